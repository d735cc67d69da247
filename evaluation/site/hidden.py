"""Which questions a site may not show, and which pages with them.

Contract: of a hidden question nothing goes into any file of a site but its place in the exam, its subject and the like,
and the marks that it got: no text, key, picture, id or name, and no answer to it. A question is hidden where its
release is held back, where its rights forbid it, or where it was made from, or is a translation of, one that is. A
page that shows a hidden question is hidden too.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from livek12.core.hub import NotFetched, fetch
from livek12.core.records import Question
from livek12.core.rights import Name, made_from
from livek12.report.site.store import digest_of

HELD_BACK = "held back"
Refuses: TypeAlias = Callable[[Question], str]
"""Why a question may not be shown; "" where it may."""


class Hidden:
    """What is hidden of the questions that it has looked at.

    Args:
        refuses: why the rights of a question forbid it.
        held: releases that are held back.
    """

    def __init__(self, refuses: Refuses, held: Iterable[str]) -> None:
        self._refuses, self.held = refuses, frozenset(held)
        self._why: dict[Name, str] = {}
        self._relatives: defaultdict[Name, set[Name]] = defaultdict(set)
        self._shown_on: defaultdict[tuple[str, int], set[Name]] = defaultdict(set)
        self._somewhere_in: defaultdict[str, set[Name]] = defaultdict(set)

    def look(self, questions: Iterable[Question], keys_from_elsewhere: bool = False) -> None:
        """Takes questions in; `keys_from_elsewhere`: their answers were marked by the keys of another data set."""
        for question in questions:
            name = (question.benchmark, question.id)
            keyless = keys_from_elsewhere and not (question.answer or question.variables)
            held = question.release in self.held or keyless
            if why := HELD_BACK if held else self._refuses(question):
                self._why.setdefault(name, why)
            if others := made_from(question):
                self._relatives[name].update(others)
            if question.paper_id and question.page_numbers:
                for number in question.page_numbers:
                    self._shown_on[question.paper_id, number].add(name)
            elif question.paper_id:
                self._somewhere_in[question.paper_id].add(name)

    def settle(self) -> None:
        """Hides what is made from hidden questions, and what they were made from; call it when all were looked at."""
        again = True
        while again:
            again = False
            for name, others in self._relatives.items():
                for one, other in [(name, other) for other in others] + [(other, name) for other in others]:
                    if one not in self._why and other in self._why:
                        self._why[one] = self._why[other]
                        again = True

    def why(self, question: Question) -> str:
        """Why a question is hidden; "" where it is not."""
        return self._why.get((question.benchmark, question.id), "")

    def pages(self) -> frozenset[tuple[str, int]]:
        """Pages that may not be shown."""
        found = {page for page, names in self._shown_on.items() if any(name in self._why for name in names)}
        papers = {paper for paper, names in self._somewhere_in.items() if any(name in self._why for name in names)}
        return frozenset(found | {page for page in self._shown_on if page[0] in papers})

    def digest(self) -> str:
        """Hash of all that is hidden."""
        return digest_of(sorted(self._why.items()), sorted(self.held))


def held_back_in(data: str) -> str:
    """The release whose answers a data set says are kept elsewhere; "" where it says nothing.

    Args:
        data: a folder, or ORG/NAME[@REVISION] on the Hub.
    """
    folder = Path(data)
    if not folder.is_dir():
        name, _, revision = data.partition("@")
        if name.count("/") != 1 or folder.is_absolute():
            return ""
        try:
            folder = fetch(name, revision or None, [_FILE])
        except NotFetched:
            return ""
    try:
        return str(json.loads((folder / _FILE).read_bytes())["release"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


_FILE = "held_back.json"
"""What `livek12 publish --hold-answers` writes into the public data set."""
