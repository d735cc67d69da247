"""A model that reads papers: its engine, the cache of its replies, and the comparison of its readings with the rules'.

Contract: two readings are equal if their letters, digits, signs and commands are, in the same order: white space and
the spelling of LaTeX alone may differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

from livek12.core.records import IMAGE_MARK, Key, Message, Request, Sampling
from livek12.core.store import Store
from livek12.dataset_builders.ingest.pages.atoms import FUNCTIONS, symbol
from livek12.dataset_builders.ingest.pages.blocks import PICTURE
from livek12.engines.asking import REPLIES, Asker, ModelSpec

T = TypeVar("T")
_OUTSIDE: Final = re.compile(r"(\\.|\$(?:[^$\\]|\\.)*\$)|([{}$])", re.DOTALL)
"""A formula, or a brace or dollar outside one, which is printed."""
_BREAK: Final = re.compile(r"(?<=[a-z]{2})-[ \t]*\n\s*(?=[a-z]{2})")
_SCRIPTS: Final = re.compile("([⁰¹²³⁴-⁹⁺⁻⁼⁽⁾ⁿⁱ]+)|[₀-₉₊₋₌₍₎]+")
_SIGN: Final = re.compile(r"\\[A-Za-z]+|\\.|\S", re.DOTALL)
_FONT: Final = re.compile(r"\\(?:text(?:rm|bf|it)?|math(?:rm|bf|it|sf|tt|normal)|operatorname)")
_UNPRINTED: Final = frozenset(
    ["$", PICTURE, *(f"\\{name}" for name in ("left", "right", "displaystyle", "limits", "quad", "qquad", *",;:! \n"))]
)
_SPELLINGS: Final = {
    r"\leq": r"\le", r"\leqslant": r"\le", r"\geq": r"\ge", r"\geqslant": r"\ge", r"\neq": r"\ne", r"\dfrac": r"\frac",
    r"\tfrac": r"\frac", r"\rightarrow": r"\to", r"\%": "%", r"\#": "#", r"\&": "&",
    **{f"\\{name}": name for name in FUNCTIONS},
}  # fmt: skip


class Model:
    """A started model, with a cache if there is a folder; UserError if there is no such model."""

    def __init__(self, spec: ModelSpec, folder: Path | None) -> None:
        self._engine = spec.start()
        self._asker = Asker(self._engine, Store(REPLIES, folder) if folder else None)
        self.name = self._engine.model

    def ask(
        self, requests: Iterable[Request], read: Callable[[str, str], T], whole: bool = False
    ) -> tuple[dict[str, T], dict[str, str]]:
        """Replies as `read` takes them, and the problems of the others, by the names of their requests."""
        values, problems = dict[str, T](), dict[str, str]()
        for reply in self._asker.replies(requests, lambda key, text: read(key.question_id, text), whole):
            if reply.value is None:
                problems[reply.key.question_id] = reply.problem
            else:
                values[reply.key.question_id] = reply.value
        return values, problems

    def close(self) -> None:
        """Frees memory and processes."""
        self._engine.close()
        self._asker.close()


def request(task: str, name: str, messages: list[Message], tokens: int, **given: Any) -> Request:
    """A named request for the likeliest reply."""
    sampling = Sampling(temperature=0.0, max_tokens=tokens)
    return Request(key=Key(task=task, question_id=name), messages=messages, sampling=sampling, **given)


def bare(text: str) -> str:
    """A text for comparison: compatible letters in one spelling of LaTeX; no white space, fonts, places of pictures."""
    text = _OUTSIDE.sub(lambda match: match[1] or f"\\{match[2]}", _BREAK.sub("", text.replace(IMAGE_MARK, "")))
    text = _SCRIPTS.sub(lambda match: f"{'^' if match[1] else '_'}{{{match[0]}}}", text)
    compatible = unicodedata.normalize("NFKC", text)
    spelt = "".join(sign if sign.isascii() else f"{symbol(sign)} " for sign in compatible)
    signs: list[str] = []
    opened: list[tuple[int, bool]] = []  # braces: their place, and if they are a font's
    font = False
    for sign in _SIGN.findall(spelt):
        if is_font := _FONT.fullmatch(sign) is not None:
            font = signs[-1:] not in (["^"], ["_"])
        elif sign == "}" and opened:
            place, of_font = opened.pop()
            if of_font or len(signs) <= place + 2:
                signs[place] = ""
            else:
                signs.append(sign)
        elif sign not in _UNPRINTED:
            if sign == "{":
                opened.append((len(signs), font))
            signs.append(_SPELLINGS.get(sign, sign))
        font = font and is_font
    return "".join(f"{sign} " if re.fullmatch(r"\\[A-Za-z]+", sign) else sign for sign in signs)


def read_alike(first: str, second: str) -> bool:
    """Tests two readings for equality, with as many pictures in them."""
    return first.count(PICTURE) == second.count(PICTURE) and bare(first) == bare(second)
