"""YAML files of users and strangers: bounded, without aliases and repeated keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError

_SCALARS = {
    "null": "~|null|Null|NULL|",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": "[-+]?(0|[1-9][0-9]{0,17})",
    "float": r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+",
}


def read_yaml(path: Path, most: int) -> Any:
    """Plain values of a file of at most `most` bytes, scalars by YAML 1.2: 12:00:00 and `no` are texts."""
    import yaml

    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    if len(content) > most:
        raise UserError(f"{path}: has more than {most} bytes; such a file is smaller")

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem="aliases are not taken", problem_mark=mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: set[str] = set()
            for key, _ in node.value:
                if str(key.value) in seen:
                    raise yaml.MarkedYAMLError(problem=f"{key.value!r} is given twice", problem_mark=key.start_mark)
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

    for kind, pattern in _SCALARS.items():
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(rf"(?:{pattern})\Z"), None)
    # Libraries beside vLLM have every loader of the process read times as texts.
    Loader.add_constructor("tag:yaml.org,2002:timestamp", Loader.construct_yaml_timestamp)  # type: ignore[type-var]
    try:
        return yaml.load(content, Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        problem = getattr(error, "problem", None) or str(error)
        raise UserError(f"{place}: {' '.join(str(problem).split())[:200]}") from error
    except (KeyError, AttributeError, IndexError, TypeError) as error:  # yaml's word for a value that its tag refuses
        raise UserError(f"{path}: a value is not what its tag says (such as !!bool yes); leave the tags out") from error
