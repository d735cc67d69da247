"""Asks a model for translations, checks them, and asks again for those that fail.

Contract: see the package. What a model is asked goes by the text alone, so that a run that was killed finds its
answers in the journal and goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from livek12.core.engines.base import Engine, Outcome
from livek12.core.records import Failure, Key, Message, Part, Request, Sampling
from livek12.dataset_builders.asking import MAX_REPLY, Memory, json_object
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.translation.checks import MAX_TEXT, problems
from livek12.dataset_builders.translation.glossary import terms_in
from livek12.dataset_builders.translation.texts import Texts

TASK = "translate"
LANGUAGES = {"en": "English"}
RETRIES = 2
MAX_TOKENS = 8192
_MOST_PROBLEMS = 12


@dataclass
class Piece:
    """Texts that are translated together, and what came of it.

    Attributes:
        id: names them in the journal.
        texts: by name.
        said: their translation, once the checks find nothing.
        faults: what was wrong with the last one.
        failed: no reply came; asking again may bring one.
        rounds: how often it was asked for.
    """

    id: str
    texts: Texts
    said: Texts | None = None
    faults: list[str] = field(default_factory=list)
    failed: bool = False
    rounds: int = 0
    _reply: str = ""


def translate(
    pieces: Sequence[Piece],
    engine: Engine,
    memory: Memory,
    glossary: Mapping[str, str] | None = None,
    retries: int = RETRIES,
    step: Callable[[], None] = lambda: None,
) -> None:
    """Fills in the pieces.

    Args:
        pieces: what to translate.
        engine: does it; stays the caller's.
        memory: the journal of replies.
        glossary: terms, where there are some.
        retries: how often a faulty translation is asked for again.
        step: called once a piece.

    Raises:
        UserError: the engine cannot run at all, or a reply cannot be stored.
    """
    open_pieces = {piece.id: piece for piece in pieces if _can_be_asked(piece)}
    for round_ in range(retries + 1):
        for outcome in memory.ask(engine, _requests(open_pieces, glossary or {}, round_)):
            _take(open_pieces[outcome.key.question_id], outcome)
        open_pieces = {id: piece for id, piece in open_pieces.items() if piece.said is None and not piece.failed}
        if not open_pieces:
            break
    for _ in pieces:
        step()


def read_reply(text: str, texts: Texts) -> tuple[Texts | None, list[str]]:
    """The translations in a reply and what is wrong with them.

    Returns:
        The translations, None where there is any fault; the faults.
    """
    try:
        said = json_object(text, MAX_REPLY)
    except ValueError as error:
        return None, [f"the reply is not the JSON object asked for: {error}"]
    if said.keys() != texts.keys() or not all(isinstance(value, str) for value in said.values()):
        return None, [f"the reply has {one_line(', '.join(map(str, said)), 120)} and not {', '.join(texts)}, all texts"]
    faults = [f"{name}: {problem}" for name, source in texts.items() for problem in problems(source, said[name])]
    return (None if faults else said), faults


def _requests(pieces: Mapping[str, Piece], glossary: Mapping[str, str], round_: int) -> Iterator[Request]:
    for piece in pieces.values():
        piece.rounds += 1
        yield _request(piece, glossary, round_)


def _request(piece: Piece, glossary: Mapping[str, str], round_: int) -> Request:
    body = json.dumps(piece.texts, ensure_ascii=False, indent=1)
    system = instructions()
    if terms := terms_in(glossary, body):
        system += "\n\nTerms:\n" + "\n".join(f"- {source}: {target}" for source, target in terms.items())
    messages = [_message("system", system), _message("user", body)]
    if piece.faults:
        told = "\n".join(f"- {fault}" for fault in piece.faults[:_MOST_PROBLEMS])
        messages.append(_message("assistant", piece._reply[:MAX_REPLY] or "{}"))
        messages.append(
            _message("user", f"That translation is wrong:\n{told}\nGive the whole JSON object again, mended.")
        )
    return Request(
        key=Key(task=TASK, question_id=piece.id, trial=round_),
        messages=messages,
        sampling=Sampling(temperature=0.0, max_tokens=min(MAX_TOKENS, 400 + 2 * len(body))),
        answer_schema={
            "type": "object",
            "properties": {name: {"type": "string"} for name in piece.texts},
            "required": list(piece.texts),
            "additionalProperties": False,
        },
    )


def _take(piece: Piece, outcome: Outcome) -> None:
    if isinstance(outcome, Failure):
        piece.faults = [f"no reply: {one_line(outcome.reason, 160)}"]
        piece.failed = True
        return
    piece._reply = outcome.text
    piece.said, piece.faults = read_reply(outcome.text, piece.texts)
    if piece.said is None and outcome.finish_reason == "length":
        piece.faults.insert(0, "the reply was cut at its token limit")


def _can_be_asked(piece: Piece) -> bool:
    size = sum(map(len, piece.texts.values()))
    if size > MAX_TEXT:
        piece.faults = [f"{size:,} characters are too long to translate"]
    return size <= MAX_TEXT and bool(piece.texts)


def _message(role: str, text: str) -> Message:
    return Message.model_validate({"role": role, "content": [Part(type="text", text=text)]})


@cache
def instructions(to: str = "en") -> str:
    """What a translator is told."""
    file = resources.files("livek12.dataset_builders.translation").joinpath("prompts/translate.txt")
    return file.read_text("utf-8").format(language=LANGUAGES[to]).strip()
