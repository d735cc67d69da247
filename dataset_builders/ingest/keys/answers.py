"""The answer in a key's text, in the form of its question.

Contract: `split_text` parts an answer from its solution by heads and lines, `in_form` gives both the form of a draft:
its type, options and number of blanks. What is not of the type is kept with the problem; lines to write on are none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.questions.headings import ANSWER_HEAD, SOLUTION_HEAD, width
from livek12.dataset_builders.ingest.questions.kinds import solves
from livek12.dataset_builders.ingest.questions.points import marks
from livek12.dataset_builders.reading.options import plain_label
from livek12.dataset_builders.reading.text import count_blanks, plain_width, split_blanks, split_parts
from livek12.judges.rules.true_false import read_truth

LONGEST_ANSWER = 60
"""Characters of an answer that is no solution."""
_RINGED = r"[①-⑩](?:[\s,，、]*[①-⑩])*"
_LETTERS = r"[A-J](?:[\s,，、]*[A-J])*"
_WHOLE = re.compile(rf"[\s(（]*(?:Option\s)?(?P<letters>{_LETTERS})[\s)）.．。]*|\s*(?P<rings>{_RINGED})\s*[.．。]?\s*")
_SMALL = re.compile(r"[\s(（]*(?=[a-h])a?b?c?d?e?f?g?h?[\s)）.．。]*")
LABEL_FIRST = re.compile(r"(?:[B-H](?=\s+[a-z]|\s*[:：]|\s*\Z)|A(?=\s*[:：]|\s*\Z))")
"""A letter at the beginning of a line that is not a word."""
_HEADED = r"(?:정답은?|(?:正确|参考)?答案[为是]?)\s*[:：]?\s*"
_FIRST = both_scripts(
    rf"\s*(?:[•◦▪●]\s*)?(?:{_HEADED}(?P<stated>{_RINGED}|{_LETTERS})(?![\w])[.．。:：]?|(?P<label>{_RINGED}(?!.*\n\s*[①-⑩])[.．。:：]?"
    r"|[(（]?[A-Ja-j][)）](?!\s*[,，、])[.．。:：]?|[A-H](?:\s*[,，、]\s*[A-H])*[.．。:：]"
    rf"|{LABEL_FIRST.pattern}[:：]?|[A-H](?=[ \t]*[(（,，\n]|[ \t]{{3}})))\s*(?P<reason>.*)",
    re.DOTALL,
)
"""An answer that begins with its label, and the reason."""
_LISTED = re.compile(r"\n\s*(?:[(（]?[B-Jb-j][)）]|[B-J][.．、])\s")
"""Another label behind it, that of a part."""
LETTER_FIRST = re.compile(
    r"\s*(?:【解析】|\[解析\])?\s*(?P<label>[A-H])[ \t]+(?=[一-鿿“])(?![项点])(?P<reason>.+)", re.DOTALL
)
"""A letter that may be a word of the reason, if not most reasons begin so."""
_LAST = both_scripts(
    r"(?:(?:^|,)\s*or|answers?(?:\s+is)?|[故应]选|答案[为是选]?)\s*[:：]?\s*\$?[(（]?([A-H]{1,4})[)）]?\$?\s*[.．。]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a solution that ends in the label of an option."""
_STATED = both_scripts(r"(?<=\S)\s*(?:故\s*填|[故则]?\s*答案[为是])\s*[:：]?\s*([^。．；;:：]{1,60}?)[\s。.．]*\Z")
"""The end of a worked solution that names what fills the blank."""
_JUDGED = both_scripts(
    r"[-–—\s]*(?P<label>正确|错误|[对错√×✓✗]|True|False|[TF](?=[.．]|\s*$))(?:[。.．，,:：;；\s]+(?P<reason>.*))?",
    re.DOTALL,
)
"""A solution that begins with the judgement."""
_BRACKETS = re.compile(r"[(（]\s*[)）]")
"""A place to write a label."""
_SIGN = both_scripts("[TFOX√×✓✗○对错]|True|False")
_LABEL_ALONE = re.compile(r"[①-⑩](?:[\s,，、]*[①-⑩])*|[A-Ha-h](?:\s*[,，、]\s*[A-Ha-h])*|[A-H]{2,6}")
_BLANK = re.compile(r"\s*【\d{1,2}】\s*")
"""A label of a blank in its key."""

AT_ONCE = both_scripts(
    r"(?<=[^\s{])(?=【(?:解析|详解|解答|分析|点评)】)|(?<=[。．.；;])(?=(?:解析|详解)[:：])|(?<=】)(?=解答\s)"
)
"""A solution's title right behind the answer; one in a formula was read into it."""
_SOLUTION_LINE = both_scripts(r"\n(?=[^\n]*【(?:解析|详解|解答)】)")
"""A title that was read into a formula: its whole line is the solution's, so that nothing is lost."""
_WORTH_EACH = re.compile(r"\s*[(（]\s*(?:每空)?\s*\d{1,2}\s*分\s*[)）]\s*[。．.]?(?P<remark>.*)$")
_TOPICS = both_scripts(r"(?:^|\n)[ \t]*[【\[](?:考点|知识点)[】\]][ \t]*([^\n]*)")
SOLVES = both_scripts(r"\s*(?:解|证明|解答|证|答|Solution|Proof|풀이)\s*[:：]|\s*[(（]\s*1\s*[)）]", re.IGNORECASE)
BEGUN = re.compile(r"\s*(?:Solution|Proof)s?\s*[.．](?:\s+|(?=[^\sa-z]))")
_VALUE_ALONE = both_scripts(
    rf"(?!\s*[(（]\s*(?:1|一|a|i)\s*[)）]|.*[:：]$|\$?[•◦▪●])(?=.{{1,{LONGEST_ANSWER}}}$)(?:(?:\S+\s*){{1,3}}|[(（]?[A-Ja-j][)）.．、]\s.*)"
)
"""One answer: a label with its text, or a few words, that introduce no list and are no part."""
_WIDEST = 40
"""Letters of a first line that is an answer, with its reason below; one of Chinese or Korean counts two."""
_MARKING = re.compile(r"每(?:个|空|小?题)[^()（）]{0,6}分|不扣分|不给分")
"""Of a note on marking."""
_BULLET = re.compile(r"\s*\$?[•◦▪●]")
_OMITTED = both_scripts(r"[^\n]{0,6}[(（]?(?:略|见[课书]本)[)）]?[。.]?|[^\n]{0,12}第.{1,3}[道个]?[大小]?题[^\n]{0,6}")
"""In place of an answer: none, or where it is."""
NO_HEAD = "text without a head stands behind its key: it may be another question's"
WORTH = re.compile(
    r"\n[ \t]*(?:points?|marks?|배점|分值)[ \t]*[:：].*"
    r"|\A\s*(?:[(（\[]\s*)?\d{1,3}[ \t]*(?:points?|marks?|pts|分|점)(?:\s*[)）\]]?|[^\n()（）]{2,30}[)）])"
    r"[ \t]*(?:[:：]|(?=\n|\Z))",
    re.IGNORECASE,
)
"""A line of points, below an answer or behind its number."""
PART = re.compile(r"[ \t]*([(（]?([a-z]|[ivx]{1,4}|\d{1,2})\s?[)）.．])(?!\d)")
"""The label of a part."""
SERIES = ([*"abcdefghijklmnop"], "i ii iii iv v vi vii viii ix x xi xii".split(), [*map(str, range(1, 21))])
"""Labels of parts: where one begins, only the next of the same series is another part."""
HEAD_OF_CELLS = both_scripts(r"\A([^\n]*)\|[ \t]*(?:정답|答案|Answer)\s*[:：]?[ \t]+(?=[^|\n]+(?:\n|$))")
"""A line of cells with a kind, points, and the answer."""
_LABELS_AND_VALUE = re.compile(
    r"(?:^|(?<=[\n】]))[ \t]*解答[ \t]+(\S[^\n]*(?:\n(?![ \t]*解析)[^\n]*){0,5})\n[ \t]*解析(?!式|几何)"
)
"""The answer and its solution, behind labels without a colon."""
_BARE_HEAD = re.compile(r"\n[ \t]*Answer[ \t]*\n(?=\S[^\n]{20})(?![ \t]*[(（]?(?:[a-h]|[ivx]{1,4}|\d)[)）.．])")
"""Over an answer; where none is printed, the next part or a place to write follows."""
_HEADS_OF_TEXT = ("Answer", "Answer.", "Answers.")
"""Heads of answers that are solutions if they have several lines."""
_RULE = re.compile(r"\n\s*[-=]{8,}")


@dataclass(frozen=True)
class Reading:
    """An answer in the form of its question, its solution, and the problem ("" for none)."""

    answer: tuple[str, ...] = ()
    solution: str = ""
    problem: str = ""


def is_choice(draft: Draft) -> bool:
    """Checks for a question whose answer is a label or a judgement."""
    return bool(draft.options) or draft.question_type in {*CHOICE_TYPES, "true_false"}


def labels(text: str) -> list[str]:
    """Labels of options that a text consists of."""
    plain = plain_width(text)
    if match := _WHOLE.fullmatch(plain.upper() if _SMALL.fullmatch(plain) else plain):
        return [plain_label(label) for label in re.findall(r"[A-J①-⑩]", match["letters"] or match["rings"])]
    return [number[1]] if (number := re.fullmatch(r"[(（]?([1-9])[)）]?번?", plain.strip())) else []


def is_label(text: str) -> bool:
    """Checks for labels of options, or a sign of right or wrong."""
    return bool(labels(text) or _SIGN.fullmatch(text.strip()))


def in_form(draft: Draft, answer: str, solution: str = "", letter_first: bool = False) -> Reading:
    """A printed answer and its solution in the form of a draft."""
    answer, solution = (text.strip() if text.strip("_＿….\n\t ") else "" for text in (answer.lstrip(" ："), solution))
    if is_choice(draft):
        of_options = draft.options or draft.question_type in CHOICE_TYPES
        return _choice(draft, answer, solution, letter_first) if of_options else _judgement(answer, solution)
    if draft.question_type == "fill_in_blank" and (stated := _STATED.search(answer or solution)):
        return _blanks(draft, " ".join(stated[1].split("\n")), "\n".join(filter(None, (answer, solution))))
    if not answer:
        return Reading((), solution)
    if _LABEL_ALONE.fullmatch(answer):
        return Reading((answer,), solution, f"the key {answer!r} is a label, but the question has no options")
    if draft.question_type == "fill_in_blank":
        return _blanks(draft, answer, solution)
    if draft.question_type in ("short_answer", "open_ended"):
        return Reading(tuple(split_parts(draft.question, answer)), solution)
    return Reading((answer,), solution)


def _choice(draft: Draft, answer: str, solution: str, letter_first: bool) -> Reading:
    own = [option.label for option in draft.options]
    text = "\n".join(filter(None, (answer, solution)))
    judged = split_parts(" ".join(f"({label.lower()})" for label in own), answer or solution)
    if len(judged) > 1 and all(read_truth(value, signs=True) is not None for value in judged):
        return Reading(tuple(judged), solution if answer else "")
    chosen, reason = labels(answer), solution
    if (
        not chosen
        and not _LISTED.search(text)
        and (match := _FIRST.fullmatch(text) or (letter_first and LETTER_FIRST.fullmatch(text)) or None)
    ):
        groups = match.groupdict()
        chosen, reason = labels((groups.get("stated") or groups["label"]).rstrip(" .．。:：")), groups["reason"]
    if not chosen and len(ends := {*_LAST.findall(text)}) == 1:
        chosen, reason = [*ends.pop().upper()], text
    if not chosen and answer:
        chosen = [option.label for option in draft.options if squeezed(option.text) == squeezed(answer)]
    if not chosen and (values := _several(draft, answer or solution)):
        return Reading(values, solution if answer else "")
    if not chosen:
        problem = f"the key {answer[:40]!r} is no label of an option" if answer else ""
        return Reading((answer,) if answer else (), solution, problem)
    missing = [label for label in chosen if own and label not in own]
    problem = f"the key {''.join(chosen)!r} names an option that is not there" if missing else ""
    return Reading(("".join(chosen),), reason.strip(), problem)


def _several(draft: Draft, answer: str) -> tuple[str, ...]:
    """Answers to the blanks of a question that has options for some; none for one, or a label with words behind it."""
    blanks = max(count_blanks(draft.question), len(_BRACKETS.findall(draft.question)))
    short = draft.options and len(answer) <= LONGEST_ANSWER
    values = [("".join(labels(value)), value) for value in (split_blanks(answer, blanks) if short else ())]
    whole = len(values) > 1 and not (values[0][0] and answer[0].isalpha() and not any(label for label, _ in values[1:]))
    return tuple(label or value for label, value in values) if whole else ()


def _judgement(answer: str, solution: str) -> Reading:
    if match := _JUDGED.fullmatch(answer or solution):
        reason = match["reason"] or ""
        return Reading((match["label"],), "\n".join(filter(None, (reason, solution if answer else ""))).strip())
    judges = not answer or read_truth(answer, signs=True, reasoned=True) is not None
    problem = "" if judges else f"the key {answer[:40]!r} is neither true nor false"
    return Reading((answer,) if answer else (), solution, problem)


def _blanks(draft: Draft, answer: str, solution: str) -> Reading:
    blanks = count_blanks(draft.question)
    numbered = _BLANK.split(answer)
    values = split_blanks(answer, blanks) if numbered[0] else numbered[1:]
    cuts = (re.split(sign, answer) for sign in (r"\s{3,}", "[，；;]"))
    alike = (pieces for pieces in cuts if len(pieces) == blanks and all(map(_is_whole, pieces)))
    values = [value.strip() for value in (next(alike, values) if len(values) != blanks else values)]
    wrong = blanks > 1 and len(values) != blanks
    return Reading(tuple(values), solution, f"{blanks} blanks, and a key that is one answer" if wrong else "")


def _is_whole(piece: str) -> bool:
    """Checks for a text whose brackets and dollars end where they begin."""
    alike = all(piece.count(own[0]) == piece.count(own[1]) for own in ("()", "（）", "[]", "{}"))
    return alike and not piece.count("$") % 2 and bool(piece.strip())


def _due(text: str) -> dict[str, str]:
    """The last label of each series that begins a line of a text, by the label that is due."""
    own = [match[2] for line in text.split("\n") if (match := PART.match(line))]
    lasts = [(series, [label for label in own if label in series[:-1]][-1:]) for series in SERIES]
    return {series[series.index(last[0]) + 1]: last[0] for series, last in lasts if last}


def _split_parts(text: str) -> tuple[str, str] | None:
    """Question and answers of parts that each have their answer below; None if no part follows an answer.

    A part begins with the label that is due, or a rule.
    """
    question, following, place = "", "", 0
    answers: list[str] = []
    heads = list(ANSWER_HEAD.finditer(text))
    for answer, later in zip(heads, [*heads[1:], None], strict=False):
        if answer.start() >= place:
            question += text[place : answer.start()]
            due = _due(question)
            begins = rf"\n(?=[ \t]*[(（]?({'|'.join(due) or '(?!)'})\s?[)）.．](?!\d)"
            match = re.compile(begins + (r"|[ \t]*[-=]{8,})" if later else ")")).search(text, answer.end())
            part, place = following, match.start() if match else len(text)
            following = (match[1] or "rule") if match else following
            own = _RULE.sub("", text[answer.end() : place]).strip()
            answers.append(f"({due.get(following) or part.removeprefix('rule') or len(answers) + 1}) {own}")
    return (f"{question}{text[place:]}", "\n".join(answers)) if following else None


def split_answered(text: str) -> tuple[str, str | None, str | None]:
    """A question's text, and the answer and solution printed below it, or below each of its parts."""
    text = _LABELS_AND_VALUE.sub(r"\nAnswer: \1\n解析：", _BARE_HEAD.sub("\nAnswer: ", AT_ONCE.sub("\n", text)))
    if parts := _split_parts(text):
        return parts[0], None, parts[1]
    answer = ANSWER_HEAD.search(text)
    start = answer.end() if answer else 0
    solution = SOLUTION_HEAD.search(text, start) or _SOLUTION_LINE.search(text, start)
    if not answer:
        solution = next(filter(_is_titled, SOLUTION_HEAD.finditer(text)), _SOLUTION_LINE.search(text))
        if solution and text[: solution.start()].strip():
            return text[: solution.start()].rstrip(), None, text[solution.end() :].strip() or None
        return text, None, None
    end = solution.start() if solution else len(text)
    key = WORTH.sub("", text[answer.end() : end]).strip()
    key, worked = _RULE.sub("", key), text[solution.end() :].strip() if solution else ""
    if answer[0].strip() in _HEADS_OF_TEXT and marks(key):  # of an example
        return text, None, None
    first, _, rest = key.partition("\n")
    if rest and (answer[0].strip() in _HEADS_OF_TEXT or _MARKING.search(first)):
        return text[: answer.start()].rstrip(), None, "\n".join(filter(None, (key, worked)))
    explained = _is_value(first) and not (_BULLET.match(rest) or _is_list(key))
    if len(rest) > LONGEST_ANSWER and explained:
        key, worked = first, "\n".join(filter(None, (rest.strip(), worked)))
    return text[: answer.start()].rstrip(), key.rstrip(" .．。") or None, worked or None


def _is_titled(head: re.Match[str]) -> bool:
    """Checks for a head in brackets, or one that begins its line."""
    return solves(head) and (head[0].strip()[0] in "【[［〖<＜" or head[0].lstrip(" ").startswith("\n"))


def _is_list(text: str) -> bool:
    """Checks for lines that differ in letters and digits alone: each is as much of the answer as the first."""
    lines = text.split("\n")
    return len(lines) > 2 and len({re.sub(r"[A-Za-z]+|\d+", "#", squeezed(line)) for line in lines}) == 1


def _is_value(line: str) -> bool:
    """Checks for one answer, with its reason below."""
    return width(line) <= _WIDEST and bool(_VALUE_ALONE.fullmatch(line))


def take_topics(text: str) -> tuple[str, list[str]]:
    """A text without the lines that name its topics (【考点】), and the topics."""
    topics = [topic.strip() for match in _TOPICS.finditer(text) for topic in re.split(r"[;；、]", match[1])]
    return _TOPICS.sub("", text).strip(), [topic for topic in topics if topic]


def split_text(text: str, draft: Draft) -> tuple[str, str, str]:
    """Answer, solution and doubt of an entry's text for a draft: by heads, else by its lines and their lengths."""
    text = WORTH.sub("", text)
    if head := BEGUN.match(text):
        return "", text[head.end() :], ""
    if draft.question_type in ("short_answer", "open_ended") and "\n" not in text:
        parts = split_parts(draft.question, text.strip())
        if len(parts) > 1 and all(len(part) <= LONGEST_ANSWER for part in parts):
            return text.strip(), "", ""
    stem, answer, solution = split_answered("\n" + text)
    if answer is not None:
        several = "\n" in answer and len(answer) > LONGEST_ANSWER  # a text of several lines
        whole = "\n".join(filter(None, (answer, solution)))
        return ("", whole, "") if several else (answer, solution or "", "")
    if solution is not None and 0 < len(stem.strip()) <= LONGEST_ANSWER and not SOLVES.match(stem):
        return stem.strip().rstrip(" .．。"), solution, ""
    if solution is not None or SOLVES.match(text):
        return "", solution or text, ""
    if head := SOLUTION_HEAD.match(f"\n{text}"):
        return "", text[head.end() - 1 :], ""
    first, _, rest = (part.strip() for part in text.partition("\n"))
    if _OMITTED.fullmatch(text) or not text.strip("_＿….\n\t "):
        return "", "", ""
    if draft.question_type == "fill_in_blank" and 1 < count_blanks(draft.question) == len(text.strip().split("\n")):
        return text.strip(), "", ""
    of_values = is_choice(draft) or draft.question_type == "fill_in_blank"
    if rest and not (of_values and _is_value(first)):
        return "", text, ""
    worth = _WORTH_EACH.search(first)
    answer, remark = (first[: worth.start()], worth["remark"].strip()) if worth else (first, "")
    answer, remark = (answer, remark) if answer else (remark, "")  # points in front of an answer
    if len(answer) > LONGEST_ANSWER:
        return "", text, ""
    return answer.rstrip(" .．。"), "\n".join(filter(None, (remark, rest))), NO_HEAD if rest else ""
