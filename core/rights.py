"""Rights to show questions: reviewed, with a licence that permits it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from livek12.core.errors import UserError
from livek12.core.hub import fetch
from livek12.core.records import Question

REVIEWED: Final = ("accepted", "upstream")
NOT_STATED: Final = frozenset(
    {"", "none", "unknown", "not stated", "no licence stated", "no license stated", "n/a", "?"}
)
"""What sources write where they state no licence, in lower case."""
HELD_BACK: Final = "held_back.json"
"""File of a published data set that names the release whose answers are kept elsewhere."""
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
NO_LICENCE: Final = "no licence stated"
FORBIDDEN: Final = "its licence forbids it"
_FORBIDS = re.compile(
    r"all rights reserved|(?:not?|never)\b[^.;]{0,40}\b(?:redistribut|re-?publi|distribut|shar(?:ed?|ing)\b|copy)|"
    r"no redistribution|redistribution (?:is )?(?:not|prohibited|forbidden)|proprietary|confidential|internal use|"
    r"版权所有|保留所有权利|禁止(?:转载|传播|分发|复制)|不得(?:转载|传播|分发|复制)|내부용|무단\s*(?:전재|복제|배포)|대외비|재배포\s*금지",
    re.IGNORECASE,
)


def refusal(question: Question) -> str:
    """Reason why a question may not be shown; "" where it may."""
    if question.review.state not in REVIEWED:
        return "rejected in review" if question.review.state == "rejected" else "nobody reviewed it"
    return licence_refusal(question.source.licence)


def licence_refusal(licence: str | None) -> str:
    """Reason why a licence forbids passing a row on, or ""."""
    if not is_stated(licence):
        return NO_LICENCE
    return FORBIDDEN if _FORBIDS.search(licence or "") else ""


def is_stated(licence: str | None) -> bool:
    """True for a stated licence."""
    return (licence or "").strip().lower() not in NOT_STATED


Name = tuple[str, str]
"""Benchmark and id of a question."""


def made_from(question: Question) -> list[Name]:
    """Originals of a translation or variant: its key reveals theirs."""
    others = (question.translation_of, question.variant.of if question.variant else None)
    return [(question.benchmark, other) for other in others if other]


def with_made(names: Iterable[Name], made: Mapping[Name, Collection[Name]]) -> set[Name]:
    """Questions with all derivatives; `made` names direct ones."""
    family = set(names)
    queue = list(family)
    while queue:
        new = set(made.get(queue.pop(), ())) - family
        family |= new
        queue += new
    return family


def held_release(data: str | Path) -> str | None:
    """Release whose answers a dataset (folder or ORG/NAME[@REVISION]) keeps elsewhere; raises NotFetched."""
    folder, (name, _, revision) = Path(data), str(data).partition("@")
    if not folder.is_dir() and _HUB_NAME.fullmatch(name):
        folder = fetch(name, revision or None, [HELD_BACK])
    file = folder / HELD_BACK
    try:
        return str(json.loads(file.read_bytes())["release"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{file}: cannot be read; name what is held back with --hold RELEASE, or --hold none") from None
