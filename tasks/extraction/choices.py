"""Option labels that a response commits to; else a value that it states, which the judges may match to an option."""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.core.records import Question
from livek12.judges.rules.labels import labelled_option, read_labels
from livek12.judges.rules.text import normal_form
from livek12.tasks.extraction.choice_forms import LOOSE
from livek12.tasks.extraction.claims import Asked
from livek12.tasks.extraction.cleaned import cleaned_text, without_markup
from livek12.tasks.extraction.holding import claims, holding
from livek12.tasks.extraction.label_lists import NOUN_ZH
from livek12.tasks.extraction.labelled import tabled_values
from livek12.tasks.extraction.regions import tail
from livek12.tasks.extraction.remarks import settled
from livek12.tasks.extraction.stated import NOTHING, Found
from livek12.tasks.extraction.substance import lists_options
from livek12.tasks.extraction.values import find_values

_OPEN_LIST = late(r"(?:[\s,，、;；和与及&]|\band\b)+\Z")
_OPEN_CHARS = 80
_ABOUT_SOMETHING = late(rf"\s*[A-J](?:\s+[a-z]{{2,}}|\s?[{NOUN_ZH}])")


def find_choice(text: str, question: Question, truncated: bool) -> Found:
    """The labels of the claim that holds, or its words where it names none; else a value that the text states."""
    asked = Asked.of(question)
    cleaned = settled(cleaned_text(text, asked.several))
    found = holding(cleaned, claims(cleaned, asked, explicit_only=truncated), asked)
    if found is not None:
        if asked.several and truncated and found.method == "phrase" and _may_go_on(cleaned, found.said):
            return NOTHING
        other = _with_other_text(text, found.said, question) if found.strength >= LOOSE else None
        return [other or found.said], found.method
    if (tabled := tabled_values(tail(text), 1)) and read_labels(tabled[0]):
        return tabled, "labelled"
    values, method = find_values(text, question, truncated, committed_only=not any(o.text for o in question.options))
    if values and lists_options(" ".join(values[0].split())):
        return NOTHING
    if values and _ABOUT_SOMETHING.match(values[0]) and values[0].strip() not in {o.text for o in question.options}:
        return NOTHING
    return [_option_in(value) for value in values], method


def _may_go_on(cleaned: str, said: str) -> bool:
    """Whether a text that was cut off ends in its letters, so that the next one may be missing."""
    return _OPEN_LIST.sub("", cleaned[-_OPEN_CHARS:]).endswith(said)


def _option_in(value: str) -> str:
    r"""An option quoted with its label, without mark-up ("\text{C) } 7"); any other value as it is."""
    plain = " ".join(without_markup(value).split())
    return plain if "\\" in value and len(value) <= 400 and labelled_option(plain) else value


def _with_other_text(text: str, label: str, question: Question) -> str | None:
    """Label and text where one of the last lines writes another option's text behind the label; else None."""
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


_LAST_LINES = 3
_BEFORE_TEXT = r"[.．、:：)）][,，]?|[,，(（](?:\s*(?:i\.e\.|that is|which is|namely),?(?=\s))?"
"""What parts a label from the option's text."""
_BEHIND_TEXT = " .。)）"
