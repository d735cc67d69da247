"""Model translation with checks and retries.

Contract: requests depend on the text alone, so that a resumed run finds its cached replies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from livek12.core.prompts import load_prompt, text_message
from livek12.core.records import Failure, Key, Request, Sampling
from livek12.core.replies import Unreadable, object_schema, parse_object
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.proposals.translation.checks import MAX_TEXT, problems
from livek12.dataset_builders.proposals.translation.glossary import terms_in
from livek12.dataset_builders.proposals.translation.texts import Texts
from livek12.engines.asking import Asker
from livek12.engines.base import Outcome

TASK = "translate"
LANGUAGES = {"en": "English"}
RETRIES = 2
MAX_TOKENS = 8192
_MOST_PROBLEMS = 12
_LONGEST_SHOWN = 60_000
"""Characters of a faulty reply shown to the model."""


@dataclass
class Piece:
    """Texts of one request and their translation.

    Attributes:
        said: translation without faults.
        faults: of the last reply.
        failed: no reply; repeatable.
        rounds: number of requests.
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
    asker: Asker,
    glossary: Mapping[str, str] | None = None,
    retries: int = RETRIES,
    step: Callable[[], None] = lambda: None,
) -> None:
    """Translates the pieces in place, with retries of faulty replies."""
    open_pieces = {piece.id: piece for piece in pieces if _can_be_asked(piece)}
    for round_ in range(retries + 1):
        for outcome in asker.outcomes(_requests(open_pieces, glossary or {}, round_)):
            _take(open_pieces[outcome.key.question_id], outcome)
        open_pieces = {id: piece for id, piece in open_pieces.items() if piece.said is None and not piece.failed}
        if not open_pieces:
            break
    for _ in pieces:
        step()


def read_reply(text: str, texts: Texts) -> tuple[Texts | None, list[str]]:
    """Translations of a reply (None with any fault), and faults."""
    try:
        reply = parse_object(text)
    except Unreadable as error:
        return None, [f"the reply {error}"]
    if reply.keys() != texts.keys() or not all(isinstance(value, str) for value in reply.values()):
        return None, [
            f"the reply has {one_line(', '.join(map(str, reply)), 120)} and not {', '.join(texts)}, all texts"
        ]
    faults = [f"{name}: {problem}" for name, source in texts.items() for problem in problems(source, reply[name])]
    return (None if faults else reply), faults


def _requests(pieces: Mapping[str, Piece], glossary: Mapping[str, str], round_: int) -> Iterator[Request]:
    for piece in pieces.values():
        piece.rounds += 1
        yield _request(piece, glossary, round_)


def _request(piece: Piece, glossary: Mapping[str, str], round_: int) -> Request:
    body = json.dumps(piece.texts, ensure_ascii=False, indent=1)
    system = instructions()
    if terms := terms_in(glossary, body):
        system += "\n\nTerms:\n" + "\n".join(f"- {source}: {target}" for source, target in terms.items())
    messages = [text_message("system", system), text_message("user", body)]
    if piece.faults:
        fault_list = "\n".join(f"- {fault}" for fault in piece.faults[:_MOST_PROBLEMS])
        messages.append(text_message("assistant", piece._reply[:_LONGEST_SHOWN] or "{}"))
        messages.append(
            text_message("user", f"That translation is wrong:\n{fault_list}\nGive the whole JSON object again, mended.")
        )
    return Request(
        key=Key(task=TASK, question_id=piece.id, trial=round_),
        messages=messages,
        sampling=Sampling(temperature=0.0, max_tokens=min(MAX_TOKENS, 400 + 2 * len(body))),
        answer_schema=object_schema(**{name: {"type": "string"} for name in piece.texts}),
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


def instructions(to: str = "en") -> str:
    """System prompt of the translator."""
    prompt = load_prompt("livek12.dataset_builders.proposals.translation", "translate.txt")
    return prompt.filled({"language": LANGUAGES[to]}).strip()
