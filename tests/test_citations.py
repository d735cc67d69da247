"""Every section, table and appendix that code, prompts and docs cite is one that the article has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "core",
    "engines",
    "judges",
    "tasks",
    "evaluation",
    "report",
    "dataset_builders",
    "hub_cards",
    "scripts",
    "docs",
)
ARTICLES: dict[str, tuple[str, int]] = {  # sections and appendices, and the number of tables
    "LiveK12Bench": ("1 2 2.1 2.2 2.3 3 3.1 3.2 4 4.1 5 A B C C.1 C.2 C.3 D D.1 D.2 E", 13),
    "KMMMU": (
        "1 2 3 3.1 3.2 4 4.1 4.2 5 5.1 5.2 5.3 6 6.1 6.2 6.3 6.4 7 7.1 7.2 8 A B B.1 B.2 B.3 C D D.1 D.2 D.3 D.4 D.5"
        + " D.6 E F G G.1 H",
        26,
    ),
    "CFE-Bench": ("1 2 3 3.1 3.2 3.3 4 5 5.1 5.2 5.3 5.4 5.5 5.6 6 A B C", 4),
    "MDK12-Bench": ("", 5),  # its sections bear no numbers
}
NUMBER = r"[A-H](?:\.\d)?(?![\w.]*\w)|\d+(?:\.\d)?(?!\w)"
PLACES = re.compile(
    rf"({'|'.join(ARTICLES)}),? (?P<kind>sections?|appendix|tables?) (?P<first>{NUMBER})"
    rf"(?:(?:, | and | to |,\n?| and\n)(?P<second>{NUMBER}))?(?:(?:, | and | to )(?P<third>{NUMBER}))?",
    re.IGNORECASE,
)


def citations() -> Iterator[tuple[Path, str, str, str]]:
    """File, article, kind (section or table) and number of each."""
    files = (file for room in ROOMS for file in (ROOT / room).rglob("*"))
    for file in files:
        if file.suffix not in {".py", ".md", ".txt", ".jinja", ".j2", ".yaml"}:
            continue
        text = re.sub(r"^hashed: .*$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for found in PLACES.finditer(" ".join(text.split())):
            article = next(name for name in ARTICLES if name.lower() == found[1].lower())
            kind = "table" if found["kind"].lower().startswith("table") else "section"
            for group in ("first", "second", "third"):
                if found[group]:
                    yield file, article, kind, found[group]


def test_what_is_cited_is_there() -> None:
    seen = list(citations())
    assert len(seen) > 50
    wrong = []
    for file, article, kind, number in seen:
        sections, tables = ARTICLES[article]
        known = sections.split() if kind == "section" else [str(n) for n in range(1, tables + 1)]
        if number not in known:
            wrong.append(f"{file.relative_to(ROOT)}: {article}, {kind} {number}")
    assert not wrong


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(LiveK12Bench, sections 3.1 and 4.3)", ["3.1", "4.3"]),
        ("KMMMU, Table 23", ["23"]),
        ("KMMMU appendix B.2.", ["B.2"]),
        ("CFE-Bench, sections 5.2 to 5.4", ["5.2", "5.4"]),
    ],
)
def test_a_citation_is_found(text: str, numbers: list[str]) -> None:
    found = PLACES.search(text)
    assert found is not None
    assert [found[group] for group in ("first", "second", "third") if found[group]] == numbers
