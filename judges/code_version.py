"""Version of the deciding code: a hash of its syntax trees.

It ignores comments, docstrings, annotations, imports, layout, file names, the order of statements and versions of
Python and libraries.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any

from livek12.core.store import DECISIONS, Store

DECIDING = (
    *("judges/base.py", "judges/cascade.py", "judges/grade.py", "judges/parts.py", "judges/rules"),
    *("judges/scheme.py", "core/schemes.py"),
    *("tasks/extraction", "tasks/scorer.py", "engines/thinking.py", "core/patterns.py", "core/text.py"),
    "core/languages.py",
    "core/question_types.py",
    "core/scripts.py",
)
"""Modules, and folders of modules, from a response to the rules' decision; read as text, not imported."""
PANEL = ("judges/llm", "core/prompts.py", "core/replies.py", "engines/asking.py")
"""Modules that send requests to judge models, read replies and add up votes."""
_NOT_SAID = frozenset({"annotation", "returns", "type_params", "kind", "ctx"})


_READING = threading.Lock()
"""Threads that come together wait for the first, which takes a second."""
_PARSING = threading.Lock()
_TRIES = 20


@cache
def code_version(places: tuple[str, ...]) -> str:
    """Eight hexadecimal digits for `DECIDING` or `PANEL`."""
    sources = [source for place in places for source in _sources(place)]
    key = f"code {hashlib.sha256(repr(sources).encode()).hexdigest()}"
    with _READING, contextlib.closing(Store(DECISIONS)) as store:
        version = store.get(key)
        if version is None:
            version = version_of(sources)
            store.put(key, version)
    return version


def version_of(sources: Sequence[bytes]) -> str:
    """Version of modules in memory, in any order."""
    digests = [
        hashlib.sha256("".join(_said(statement)).encode()).hexdigest()
        for source in sources
        for statement in _tree(source).body
        if not _is_silent(statement)
    ]
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()[:8]


def _tree(source: bytes) -> ast.Module:
    """The syntax tree; parsing is not thread-safe in Python 3.11."""
    with _PARSING:
        for _ in range(_TRIES):
            with contextlib.suppress(SystemError):
                return ast.parse(source)
            time.sleep(0.05)
        return ast.parse(source)


def _sources(place: str) -> list[bytes]:
    room, _, rest = place.partition("/")
    root = resources.files(f"livek12.{room}").joinpath(rest)
    files = sorted(root.iterdir(), key=lambda file: file.name) if root.is_dir() else [root]
    return [file.read_bytes() for file in files if file.name.endswith(".py")]


def _said(node: Any) -> Iterator[str]:
    """Code as text, without empty fields (later Pythons have more of them)."""
    if isinstance(node, list):
        for entry in node:
            if not _is_silent(entry):
                yield from _said(entry)
    elif isinstance(node, ast.Import | ast.ImportFrom):  # imported names do not tell what they stand for
        yield from (f"({alias.name} as {alias.asname})" for alias in node.names if alias.asname)
    elif isinstance(node, ast.AST):
        yield f"({type(node).__name__}"
        for name, value in ast.iter_fields(node):
            if name not in _NOT_SAID and value not in (None, []):
                yield f" {name}="
                yield from _said(value)
        yield ")"
    else:
        yield repr(node)


def _is_silent(node: Any) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.Import | ast.ImportFrom) and not any(alias.asname for alias in node.names)
