"""The licence stated by the licence or README file of a fetched repository."""

from __future__ import annotations

import re
from pathlib import Path

from livek12.dataset_builders.reading.rows import roots

_FILES = re.compile(r"(?:data[_-]?)?licen[cs]e(?:\.\w+)?|readme(?:\.\w+)?", re.IGNORECASE)
_NAMES = {
    "Apache-2.0": r"apache[- ]?(?:licen[cs]e,? )?(?:version )?2(?:\.0)?",
    "MIT": r"mit(?: licen[cs]e)?",
    "CC0-1.0": r"cc0(?:[- ]1\.0)?",
    "CC BY{}{}": r"cc[- ]by((?:[- ](?:nc|nd|sa))*)[- ]([1-4]\.0)",
}
_STATED = re.compile(
    r"^[ \t>*_#-]{0,20}licen[cs]e[*_]*\s*[:：][\s*_`\"']*(" + "|".join(_NAMES.values()) + r")(?![\w.-]*\w)",
    re.IGNORECASE | re.MULTILINE,
)
_TEXTS = {
    "Apache-2.0": re.compile(r"\s*Apache License\s+Version 2\.0, January 2004"),
    "MIT": re.compile(r"\s*(?:The )?MIT License\b"),
}
_LONGEST = 64 << 10


def stated_licence(folder: Path) -> str | None:
    """The licence that a folder's files state; None if there is none, or several that differ."""
    licences = set()
    for file in sorted(folder.iterdir()):
        inside = any(file.resolve().is_relative_to(root) for root in roots(folder))
        if _FILES.fullmatch(file.name) and inside and file.is_file():
            with file.open(encoding="utf-8", errors="replace") as lines:
                text = lines.read(_LONGEST)
            licences |= {name for name, full in _TEXTS.items() if full.match(text)}
            licences |= {_spelled(match[1]) for match in _STATED.finditer(text)}
    return licences.pop() if len(licences) == 1 else None


def _spelled(stated: str) -> str:
    for name, form in _NAMES.items():
        if match := re.fullmatch(form, stated, re.IGNORECASE):
            rights = [part.upper().replace(" ", "-") for part in match.groups()]
            return name.format(rights[0], f" {rights[1]}") if rights else name
    return stated
