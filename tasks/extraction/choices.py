"""Choices: option labels a response commits to, for one question or several sub-questions.

The last claim counts that is no weaker than those before and no remark; if denied or without an option, as text.
Without a claim a stated value counts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from livek12.core.patterns import late
from livek12.core.records import Question
from livek12.core.text import CIRCLED
from livek12.judges.rules.labels import label_sequence, labelled_option, read_labels
from livek12.judges.rules.text import normal_form
from livek12.tasks.extraction import claims, remarks
from livek12.tasks.extraction.claims import CONCLUDED, LOOSE, MARKED, NOUN_ZH, Asked, Claim, Labels, shared
from livek12.tasks.extraction.labelled import labelled_parts, tabled_values
from livek12.tasks.extraction.regions import lists_options, says_nothing, tail
from livek12.tasks.extraction.remarks import TURN, quoted, sentence_before
from livek12.tasks.extraction.values import NOTHING, Found, find_values

_ALL_LABELS = [*"ABCDEFGHIJ", *"123456789"]
_NO_ARTICLE = r"(?<![A-Za-z])(?!A\s(?!(?:is|are|was|and|or|has|does|can|fails|cannot|gives)\b)[a-z])"
_SURELY_ANSWER = late(r"(?i)题意|选|排除|答案|answer|option|choice|답|ruled|eliminat|exclud|reject|out\b|제외|배제")
_OPEN_LIST = late(r"(?:[\s,，、;；和与及&]|\band\b)+\Z")
_OPEN_CHARS = 80
_ABOUT_SOMETHING = late(rf"\s*[A-J](?:\s+[a-z]{{2,}}|\s?[{NOUN_ZH}])")
_LAST_LINES = 3
_BEFORE_TEXT = r"[.．、:：)）][,，]?|[,，(（](?:\s*(?:i\.e\.|that is|which is|namely),?(?=\s))?"
"""Separators of a label and its option's text."""
_BEHIND_TEXT = " .。)）"
_NUMBERED = late(
    r"(?<![\d.])(?P<first>\d{1,3})\s?"
    r"(?:[-—–~～至]\s?(?P<last>\d{1,3})\s?[.、．:：)]?\s?(?P<row>[A-J](?:[ ,，、]?[A-J])+)"
    r"|(?:[.、．:：)]\s?(?:故?选|答案[为是:：]?)?|\s?答案[为是:：]?)\s?(?P<one>[A-J]))(?![A-Za-z])"
    r"(?!\s?(?:选项|项)?\s?(?:是|为)?(?:错|不正确|正确|不对|对|wrong|incorrect|correct|false|true))"
)
_SECTION = late(
    r"(?m)【\s?(?:第\s?)?(\d{1,3})\s?(?:小?题)[^】\n]{0,6}】"
    r"|^[#* ]{0,6}(?:第|问题|(?i:question)\s)?\s?(\d{1,3})\s?(?:题|[.．、:：])"
)
_SHORT = 80
"""In a longer text on one sub-question only explicit commitments count."""


def _holding(cleaned: str, listed: list[Claim], offer: Asked) -> Claim | None:
    best: Claim | None = None
    for new in listed:
        if best is None or (new.labels == best.labels and new.strength > best.strength):
            best = new
        elif CONCLUDED < new.strength < MARKED and remarks.is_remark(cleaned, new.start, new.end):
            continue
        elif new.strength == best.strength <= CONCLUDED and new.labels != best.labels:
            best = replace(new, labels=claims.NO_LABELS, said=quoted(cleaned[best.start : new.end]))
        elif new.strength >= best.strength or remarks.CORRECTION.search(cleaned[best.end : new.start]):
            best = new
    if best is None or not best.labels:
        return best
    until = offer.printed_until(cleaned, best)
    if best.strength <= CONCLUDED and offer.wrong is False and not offer.several:
        verdicts = (verdict for verdict in claims.label_verdicts(cleaned) if verdict.right and not verdict.as_answer)
        if any(not verdict.labels <= best.labels for verdict in verdicts):
            return replace(best, labels=claims.NO_LABELS, said=quoted(cleaned))
    if any(shared(cleaned, end, best.labels, offer.wrong) for end in {best.end, until}):
        denial: int | None = len(cleaned)
    else:
        denial = _denied_until(cleaned, replace(best, end=until), offer)
    quote = quoted(cleaned[best.start : denial])
    return best if denial is None else replace(best, labels=claims.NO_LABELS, said=quote)


def _denied_until(cleaned: str, claim: Claim, offer: Asked) -> int | None:
    """The end of the first later denial, or None."""
    back = remarks.taken_back(cleaned, claim.end, _named(cleaned, claim, offer))
    if back is not None:
        return back
    verdicts = claims.label_verdicts(cleaned, claim.start)
    later = (verdict for verdict in verdicts if verdict.end > claim.end and verdict.labels & claim.labels)
    return next((verdict.end for verdict in later if _denies(cleaned, verdict, verdicts, claim, offer)), None)


def _named(cleaned: str, claim: Claim, offer: Asked) -> remarks.Named:
    """Patterns of the claimed option and of others."""
    this = _written(claim.labels) if len(claim.labels) == 1 and not offer.wrong else None
    printed = offer.texts.get(next(iter(claim.labels)), "") if this is not None else ""
    printed = printed if len(printed) > (3 if printed.isascii() else 1) else ""
    if this is not None and any(map(str.isalpha, printed)) and printed.lower() in cleaned[claim.end :].lower():
        this = re.compile(rf"{this.pattern}|(?i:{re.escape(printed)})")
    return remarks.Named(this, _written(frozenset(_ALL_LABELS) - claim.labels), strict=offer.wrong is False)


@cache
def _written(labels: Labels) -> re.Pattern[str]:
    letters = "".join(label for label in _ALL_LABELS if label in labels and label.isalpha() and label != "I")
    digits = "".join(label for label in _ALL_LABELS if label in labels and label.isdigit())
    ways = [rf"{_NO_ARTICLE}[{letters}](?![A-Za-z])"] if letters else []
    ways += [rf"[{''.join(CIRCLED[int(label) - 1] for label in digits)}]|[{digits}]\s?번"] if digits else []
    return re.compile("|".join(ways) or "(?!)")


def _denies(
    cleaned: str, verdict: claims.LabelVerdict, verdicts: list[claims.LabelVerdict], claim: Claim, offer: Asked
) -> bool:
    if remarks.is_told(cleaned, verdict.start, verdict.end):
        return False
    sentence = sentence_before(cleaned, verdict.start)
    turn = TURN.search(sentence) is not None
    if verdict.right:
        return bool(offer.wrong) and not verdict.as_answer and turn
    if verdict.as_answer and (offer.wrong is False or _SURELY_ANSWER.search(cleaned[verdict.start : verdict.end])):
        return True
    if offer.wrong is None:
        others_right = any(other.right and not other.labels & claim.labels for other in verdicts)
        return turn or not (others_right or remarks.CONCLUDES.search(sentence))
    return not offer.wrong


def find_choice(text: str, question: Question, truncated: bool) -> Found:
    """The labels of the claim, or its words; else a stated value."""
    offer = Asked.of(question)
    cleaned = remarks.settled(claims.cleaned_text(text, offer.several))
    listed = claims.marked_claims(cleaned, offer) or ([] if truncated else claims.plain_claims(cleaned, offer))
    claim = _holding(cleaned, sorted(listed, key=lambda claim: claim.end), offer)
    if claim is not None:
        goes_on = truncated and _OPEN_LIST.sub("", cleaned[-_OPEN_CHARS:]).endswith(claim.said)
        if goes_on and offer.several and claim.method == "phrase":
            return NOTHING
        other = _with_other_text(text, claim.said, question) if claim.strength >= LOOSE else None
        return [other or claim.said], claim.method
    if (tabled := tabled_values(tail(text), 1)) and read_labels(tabled[0]):
        return tabled, "labelled"
    values, method = find_values(text, question, truncated, committed_only=not any(o.text for o in question.options))
    if values and lists_options(" ".join(values[0].split())):
        return NOTHING
    if values and _ABOUT_SOMETHING.match(values[0]) and values[0].strip() not in {o.text for o in question.options}:
        return NOTHING
    options = [" ".join(claims.without_markup(value).split()) if "\\" in value else "" for value in values]
    pairs = zip(values, options, strict=True)
    return [option if len(value) <= 400 and labelled_option(option) else value for value, option in pairs], method


def _with_other_text(text: str, label: str, question: Question) -> str | None:
    texts = {normal_form(option.text): option.label for option in question.options if option.text.strip()}
    label = label.strip("()（）")
    if len(texts) < 2 or len(label) != 1:
        return None
    for line in [line for line in tail(text).splitlines() if line.strip()][-_LAST_LINES:]:
        quoted = list(re.finditer(rf"(?<![A-Za-z]){re.escape(label)}\s*(?:{_BEFORE_TEXT})\s*(?=\S)", line))
        behind = line[quoted[-1].end() :][:400].rstrip(_BEHIND_TEXT) if quoted else ""
        if texts.get(normal_form(behind), label) != label:
            return f"{label}. {behind.strip()}"
    return None


def find_choices(text: str, question: Question, truncated: bool, count: int) -> Found:
    """One choice a sub-question, by numbers, labels or count of commitments; else the whole text."""
    if numbered := _numbered(claims.cleaned_text(text, False), count):
        return numbered, "labelled"
    if (tabled := tabled_values(tail(text), count)) and all(len(label_sequence(value)) == 1 for value in tabled):
        return tabled, "labelled"
    first_part = question.model_copy(update={"answer": question.answer[:1]})
    for parts in (labelled_parts(tail(text), count), _sections(text, count)):
        listed = [find_choice(part, first_part, truncated or len(part) > _SHORT)[0] for part in parts]
        if listed and all(listed):
            return [answer[0] for answer in listed], "labelled"
    strong = _strong_ones(remarks.settled(claims.cleaned_text(text, False)), Asked.of(question))
    single = [label_sequence(answer.said)[0] for answer in strong if len(answer.labels) == 1]
    sums = [labels for answer in strong if len(labels := label_sequence(answer.said)) == count]
    if len(single) == count or (not single and sums):
        chosen = single or sums[-1]
        if not sums or sums[-1] == chosen:
            return chosen, "phrase"
    return ([text.strip()], "whole") if text.strip() and not says_nothing(text, question) else NOTHING


def _numbered(cleaned: str, count: int) -> list[str]:
    """Letters behind `count` consecutive numbers ("21. B 22. C", "36-40 EBACD")."""
    letters: list[str] = []
    expected = 0
    for match in _NUMBERED.finditer(cleaned):
        found = [char for char in match["one"] or match["row"] if char.isalpha()]
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if last - first + 1 != len(found):
            continue
        letters = letters + found if first == expected else found
        expected = last + 1
    return letters if len(letters) == count else []


def _sections(text: str, count: int) -> list[str]:
    """Texts behind the last consecutive headings ("【32题详解】 … 【33题详解】 …")."""
    marks = list(_SECTION.finditer(text))[-count:]
    numbers = [int(mark[1] or mark[2]) for mark in marks]
    if len(marks) < count or numbers != list(range(numbers[0], numbers[0] + count)):
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]


def _strong_ones(cleaned: str, offer: Asked) -> list[Claim]:
    kept: list[Claim] = []
    for candidate in sorted(claims.marked_claims(cleaned, offer), key=lambda claim: claim.end):
        if kept and candidate.start < kept[-1].end:
            kept[-1] = max(kept[-1], candidate, key=lambda rival: rival.strength)
        elif not remarks.is_remark(cleaned, candidate.start, candidate.end):
            kept.append(candidate)
    return kept
