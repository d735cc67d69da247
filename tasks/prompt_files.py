"""Prompt files: one a language and style, each with a version of its own and a hash.

Contract: a prompt is a file `prompts/LANGUAGE[.STYLE].txt` of a benchmark's room. Its head, between two lines `---`,
names its `version` and the `source` of its rules; the rest is the template, with its places in braces (`{question}`,
`{pages}`, `{number}`, `{knowledge_points}`). The hash is that of the whole file.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from livek12.core.errors import UserError

_HEAD = re.compile(r"---\nversion: (\d+)\nsource: (.+)\n---\n")


@dataclass(frozen=True)
class PromptFile:
    """One template.

    Attributes:
        name: "livek12/en.image_only.txt".
        version: goes up with every change of the file that has been in a release.
        source: where its rules come from.
        text: the template.
        sha256: of the whole file.
    """

    name: str
    version: int
    source: str
    text: str
    sha256: str


@cache
def prompt_files(benchmark: str, style: str = "") -> dict[str, PromptFile]:
    """The prompt files of a benchmark in one style, by language.

    Raises:
        UserError: a file has no head.
    """
    folder = resources.files("livek12.tasks").joinpath(benchmark, "prompts")
    suffix = f".{style}.txt" if style else ".txt"
    found = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        language = file.name.removesuffix(suffix)
        if file.name.endswith(suffix) and "." not in language:
            found[language] = parse(f"{benchmark}/{file.name}", file.read_text(encoding="utf-8"))
    return found


def parse(name: str, text: str) -> PromptFile:
    """A prompt from the text of its file.

    Raises:
        UserError: the text has no head.
    """
    head = _HEAD.match(text)
    if head is None:
        raise UserError(f"prompt {name}: begins with no head (---, version: N, source: …, ---)")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return PromptFile(name, int(head[1]), head[2], text[head.end() :], digest)
