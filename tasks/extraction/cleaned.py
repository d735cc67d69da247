"""A response as one plain text in which an answer tag is 〖…〗 and a box 〘…〙, for claims to be found in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from livek12.core.patterns import late
from livek12.judges.rules.labels import read_labels
from livek12.tasks.extraction.regions import TextRegion, answer_tags, boxes, outside_of, tail, unbolded
from livek12.tasks.extraction.values import final_run

_TAIL_CHARS = 30_000
_BOX_CHARS = 400
_LIST_GAP = late(r"[$\s*.。,，、;；]*(?:[-•]|[(（]?\d{1,2}[.．、)）])?[$\s*]*")
_MARKUP = late(
    r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|boldsymbol|bm|rm|bf|displaystyle|quad|qquad|left|right)(?![a-zA-Z])"
    r"|\\[,;:! ()\[\]]|[{}$*`~\"“”「」]"
)
_JOINED = late(r"\b((?i:options?|choices?|answers?))(?:\\?_){1,3}([A-J](?![A-Za-z0-9]))_{0,3}")
_BULLET = late(r"(?:\n[^\S\n]{0,8}[-•+]\s|(?:\n|\A)[^\S\n]{0,8}[➡👉✅✔→⇒]\ufe0f?\s?)(?=[(（]?[A-J](?![A-Za-z]))")
_QUOTED = late(r"['‘’]([A-J①-⑩](?:번)?|[1-9]번?)['‘’]")
_NARROW = str.maketrans({chr(ord("Ａ") + index): chr(ord("A") + index) for index in range(26)})


def cleaned_text(text: str, several: bool) -> str:
    """The end of the text without mark-up, with its boxes and answer tags marked."""
    tags = answer_tags(text)
    outside = outside_of(tags, boxes(text))
    listed = _listed(text, outside) if several else []
    run = listed or final_run(text, outside)
    if len(run) > 1 and all(read_labels(box.content) for box in run):
        together = "".join((", " if listed else text[a.end : b.start]) + b.content for a, b in pairwise(run))
        outside[-len(run) :] = [TextRegion(run[0].start, run[-1].end, run[0].content + " " + together)]
    pieces: list[str] = []
    tagged = {tag.start for tag in tags}
    position = 0
    for region in sorted([*tags, *outside], key=lambda region: region.start):
        inner = boxes(region.content)
        content = (inner[-1].content if inner else region.content)[:_BOX_CHARS].replace("\n", " ")
        pieces += [text[position : region.start], f"〖{content}〗" if region.start in tagged else f"〘{content}〙"]
        position = max(position, region.end)
    pieces.append(text[position:])
    joined = "".join(pieces)[-_TAIL_CHARS:]
    if "_" in joined:
        joined = _JOINED.sub(lambda match: f"{match[1]} {match[2]}", joined)
    plain = _BULLET.sub("\n", without_markup(unbolded(joined)).translate(_NARROW))
    return _squeezed(tail(_QUOTED.sub(lambda match: match[1], plain)))


def without_markup(text: str) -> str:
    """The text without commands of fonts and spaces, braces, dollars, stars and quotes."""
    return _MARKUP.sub("", text)


def _squeezed(text: str) -> str:
    """The text with single spaces and without empty lines: no pattern has to try the ways to split a wide gap."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if not line.isspace() and line)


def _listed(text: str, found: Sequence[TextRegion]) -> list[TextRegion]:
    """The last boxes where each holds one other letter and only numbers of a list stand between them."""
    run = list(found[-1:])
    for after, before in pairwise(reversed(found)):
        if not _LIST_GAP.fullmatch(text[before.end : after.start]):
            break
        run.insert(0, before)
    labels = [read_labels(box.content) for box in run]
    singles = [next(iter(label)) for label in labels if label is not None and len(label) == 1]
    return run if len(run) > 1 and len(set(singles)) == len(run) else []
