"""Subsets, and criteria for those decided by features and an annotator.

Contract: increase `RULES_VERSION` with any change of rules, weights or words. A Korean word matches at its beginning;
ambiguous names (고려 is also "consider") need right-hand context. Sources: LiveK12Bench section 2.1 (complex_layout,
rigorous_process, long_horizon), KMMMU sections 3.2, 4.1, 7.1 and B.3 (korean_specific, hard, image_dependent,
adversarial), CFE-Bench section 3.2 (image_dependent), MDK12-Bench Table 2 (mini).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal

import yaml

from livek12.core.errors import UserError
from livek12.core.records import BenchmarkName
from livek12.dataset_builders.proposals.subsets.candidates import Among, Candidate, Standing
from livek12.dataset_builders.registry import builder_of

KOREAN_WORDS: dict[str, list[str]] = yaml.safe_load(
    resources.files(__package__).joinpath("korean.yaml").read_text(encoding="utf-8")
)
_PATTERNS = {category: re.compile(rf"(?<![가-힣])(?:{'|'.join(words)})") for category, words in KOREAN_WORDS.items()}
_MOST_WORDS = 6
RULES_VERSION = 4
KOREAN_SPECIFIC = "korean_specific"
"""The flag `is_korean_specific`, not a name in `subsets`."""


def korean_words(category: str, text: str) -> list[str]:
    """Distinct words of a category, in text order; at most six."""
    words = dict.fromkeys(" ".join(match.group().split()) for match in _PATTERNS[category].finditer(text))
    return list(words)[:_MOST_WORDS]


@dataclass(frozen=True)
class Finding:
    """Result of a rule.

    `met` is None if unknown; `strength`, 0.5 to 1, only ranks proposals.
    """

    met: bool | None
    why: str
    strength: float = 1.0


@dataclass(frozen=True)
class CriteriaContext:
    """Comparison data of the rules: ranks of features, and evidence by question (verdict, reason)."""

    standing: Standing
    long_answers: Mapping[str, tuple[bool, str]] = field(default_factory=dict)
    lucky: Mapping[str, tuple[bool, str]] = field(default_factory=dict)


Rule = Callable[[Candidate, CriteriaContext], Finding]


@dataclass(frozen=True)
class Criterion:
    """Reason for membership; without a rule only the annotator decides."""

    name: str
    says: str
    weight: int
    rule: Rule | None = None


@dataclass(frozen=True)
class Subset:
    """A subset for proposals.

    Attributes:
        benchmark: default; None: any.
        by: decided by `features` (and an annotator), `runs`, or a `sample`.
        least: criteria that a proposal must meet.
        floor: score that features alone must reach; an annotator's yes needs none.
        per_subject: quota for each subject of each language; None: none.
    """

    name: str
    benchmark: BenchmarkName | None
    by: Literal["features", "runs", "sample"]
    says: str
    criteria: tuple[Criterion, ...] = ()
    admits: Callable[[Candidate], bool] = lambda item: True
    least: int = 2
    floor: float = 0.0
    per_subject: int | None = None

    @property
    def as_proposed(self) -> bool:
        """True if runs or a draw decide without a reviewer."""
        return self.by != "features"

    def takes(self, benchmark: BenchmarkName) -> bool:
        """True for its own benchmark, or one whose builder names it."""
        return self.benchmark in (None, benchmark) or self.name in builder_of(benchmark).subsets


def subset_named(name: str) -> Subset:
    """Subset of a name, else raises UserError."""
    if name not in SUBSETS:
        raise UserError(f"there is no subset {name!r}; there are {', '.join(SUBSETS)}")
    return SUBSETS[name]


def _at_least(feature: str, least: float, what: str) -> Rule:
    def rule(item: Candidate, context: CriteriaContext) -> Finding:
        value = item.features[feature]
        if value is None:
            return Finding(None, f"{what}: not stated")
        return Finding(value >= least, f"{value:.3g} {what}", min(1.0, value / (2 * least)))

    return rule


def _top(feature: str, what: str, *, least: float = 0, among: Among = "subject") -> Rule:
    def rule(item: Candidate, context: CriteriaContext) -> Finding:
        value, place = item.features[feature], context.standing.place(item, feature, among)
        if value is None:
            return Finding(None, f"{what}: not stated")
        if place is None:
            return Finding(None, f"{what}: {value:g}, too few of its subject to compare with")
        below, high = place
        why = f"{what}: {value:g}, more than {below:.0%} of its {among}"
        return Finding(high and value >= least, why, (1 + below) / 2)

    return rule


def _any(*rules: Rule) -> Rule:
    """Met if one rule is; unknown if none is met and one is unknown."""

    def rule(item: Candidate, context: CriteriaContext) -> Finding:
        findings = [each(item, context) for each in rules]
        for met in (True, None, False):
            matching = [finding for finding in findings if finding.met is met]
            if matching:
                why = "; ".join(finding.why for finding in matching)
                return Finding(met, why, max(finding.strength for finding in matching))
        raise AssertionError("no rules")

    return rule


def _detached(item: Candidate, context: CriteriaContext) -> Finding:
    distance = item.features["figure_distance"]
    if distance is None:
        unknown = None if item.features["images"] else False
        return Finding(unknown, "no words point to a figure, or no image has a place in the text")
    why = f"a figure stands {distance:.1f} lines from the words that point to it"
    return Finding(distance >= _FAR, why, min(1.0, distance / (2 * _FAR)))


def _embedded(item: Candidate, context: CriteriaContext) -> Finding:
    inline, optional = (item.features[f"{kind}_images"] or 0 for kind in ("inline", "option"))
    return Finding(inline >= 1 or optional >= 2, f"{inline:g} images inside lines, {optional:g} for options")


def _figure_and_table(item: Candidate, context: CriteriaContext) -> Finding:
    images, rows = item.features["images"] or 0, item.features["table_rows"] or 0
    return Finding(images >= 1 and rows >= 2, f"{images:g} images beside {rows:g} table rows", 0.5)


def _graph_or_table(item: Candidate, context: CriteriaContext) -> Finding:
    rows, words, images = (item.features[name] or 0 for name in ("table_rows", "graph_words", "images"))
    met = rows >= 2 or (words >= 1 and images >= 1)
    return Finding(met, f"{rows:g} table rows, {words:g} words for graphs or apparatus")


def _statements(item: Candidate, context: CriteriaContext) -> Finding:
    offered, listed = item.features["statement_options"] or 0, item.features["listed_statements"] or 0
    judged = bool(item.features["judges_statements"])
    met = offered >= 3 or (listed >= 3 and judged)
    phrase = "asks" if judged else "does not ask"
    return Finding(met, f"{max(offered, listed):g} statements to choose among, {phrase} which are right")


def _guessable(item: Candidate, context: CriteriaContext) -> Finding:
    options = item.features["options"]
    return Finding(item.is_choice, f"a choice among {options:g}" if options else item.question_type.replace("_", " "))


def _from_runs(pick: Callable[[CriteriaContext], Mapping[str, tuple[bool, str]]], what: str) -> Rule:
    def rule(item: Candidate, context: CriteriaContext) -> Finding:
        return Finding(*pick(context).get(item.id, (None, f"{what}: no run tells")))

    return rule


def _korean(category: str) -> Rule:
    def rule(item: Candidate, context: CriteriaContext) -> Finding:
        words = korean_words(category, item.words)
        return Finding(bool(words), ", ".join(words) or "no word of the list", min(1.0, (1 + len(words)) / 4))

    return rule


_FAR = 2.5
"""Printed lines that count as apart."""
_KOREAN = {
    "korea": "It asks about Korea by name.",
    "law": "It turns on Korean statutes, regulations or case law.",
    "institutions": "It turns on Korean public institutions, procedures or qualifications.",
    "history": "It turns on the history of Korea or Korean historical figures and sources.",
    "language": "It turns on the Korean language itself: spelling, grammar, idiom or literature.",
    "culture": "It turns on Korean customs, food, media or social life.",
    "geography": "It turns on places, regions or statistics of Korea.",
}
_TELLING = frozenset({"korea", "law", "language"})
"""One word of these is enough for a proposal; of the others (서울, 국회, 조선) two are."""
SUBSETS: dict[str, Subset] = {
    subset.name: subset
    for subset in (
        Subset(
            "complex_layout",
            "livek12",
            "features",
            "Its layout on the paper is hard to read: it runs over pages, its figures stand apart from the words"
            " that speak of them, or images sit inside text and options.",
            (
                Criterion(
                    "across_pages", "The question runs over two or more pages.", 3, _at_least("pages", 2, "pages")
                ),
                Criterion("detached_figure", "A figure stands apart from the words that speak of it.", 2, _detached),
                Criterion("embedded_images", "Images sit inside lines of text or are the options.", 2, _embedded),
                Criterion(
                    "several_figures",
                    "Several figures must be told apart and related.",
                    2,
                    _any(
                        _at_least("images", 3, "images"),
                        _at_least("figures_named", 2, "figures named"),
                        _figure_and_table,
                    ),
                ),
                Criterion(
                    "graph_or_table",
                    "Values must be read from a curve, a chart, a table or drawn apparatus.",
                    1,
                    _graph_or_table,
                ),
            ),
            lambda item: any(
                (item.features[name] or 0) >= least for name, least in (("images", 1), ("table_rows", 2), ("pages", 2))
            ),
            least=1,
            floor=0.15,
            per_subject=50,
        ),
        Subset(
            "rigorous_process",
            "livek12",
            "features",
            "The right choice can be reached by luck, elimination or surface cues, while an honest solution has to"
            " combine several concepts and many premises.",
            (
                Criterion(
                    "lucky_in_runs",
                    "Models reach the right answer through wrong reasoning.",
                    3,
                    _from_runs(lambda context: context.lucky, "right answers with process errors"),
                ),
                Criterion("guessable", "The answer can be guessed from a few offered ones.", 2, _guessable),
                Criterion(
                    "elimination",
                    "Several statements are offered, and the right one can be picked by elimination.",
                    2,
                    _statements,
                ),
                Criterion(
                    "several_concepts",
                    "Several knowledge points must be combined.",
                    2,
                    _at_least("knowledge_points", 2, "knowledge points"),
                ),
                Criterion(
                    "many_premises",
                    "It states more premises than a quick reading keeps in mind, some of them perhaps needless.",
                    2,
                    _top("premises", "premises", least=4, among="kind"),
                ),
                Criterion(
                    "long_derivation",
                    "A sound derivation is long for its kind.",
                    1,
                    _any(
                        _top("solution_steps", "solution steps", least=4, among="kind"),
                        _top("solution_length", "solution length", among="kind"),
                    ),
                ),
                Criterion(
                    "asks_for_reasons",
                    "It asks for a proof, a derivation or reasons.",
                    1,
                    _any(
                        _at_least("proof_words", 1, "words of proof"),
                        _at_least("reason_words", 1, "words that ask for reasons"),
                    ),
                ),
            ),
            # Only a choice can be guessed.
            lambda item: item.is_choice,
            least=3,
            per_subject=50,
        ),
        Subset(
            "long_horizon",
            "livek12",
            "features",
            "It draws models into very long or circular reasoning: complex aims, many steps, high points, confounding"
            " conditions or misleading pictures.",
            (
                Criterion(
                    "traps_models",
                    "Models spend very long or circular reasoning on it.",
                    3,
                    _from_runs(lambda context: context.long_answers, "long answers"),
                ),
                Criterion(
                    "many_aims",
                    "It has several sub-questions, a proof, or several aims.",
                    2,
                    _any(
                        _at_least("parts", 2, "sub-questions"),
                        _at_least("proof_words", 1, "words of proof"),
                        _at_least("aims", 2, "aims such as an extreme or a range"),
                    ),
                ),
                Criterion("high_points", "It is worth much on its paper.", 2, _top("points", "points", among="paper")),
                Criterion(
                    "long_solution",
                    "Its solution has many steps.",
                    2,
                    _any(_top("solution_steps", "solution steps", least=4), _top("solution_length", "solution length")),
                ),
                Criterion(
                    "confounding",
                    "Its conditions or its picture mislead, or most of them are not needed.",
                    1,
                    _top("premises", "premises", least=4),
                ),
            ),
            per_subject=50,
        ),
        Subset(
            KOREAN_SPECIFIC,
            "kmmmu",
            "features",
            "Answering needs knowledge of Korea itself (its law, institutions, history, language, culture), and not"
            " merely of the world told in Korean.",
            tuple(Criterion(name, says, 1 + (name in _TELLING), _korean(name)) for name, says in _KOREAN.items()),
            lambda item: item.language == "ko",
            least=1,
            floor=0.07,
        ),
        Subset("hard", "kmmmu", "runs", "Every named baseline run answers it wrongly, in every trial."),
        Subset("adversarial", "kmmmu", "runs", "No model of the cascade answers it rightly with high confidence."),
        Subset(
            "image_dependent",
            None,
            "runs",
            "Named models answer it rightly with its images, and none of them does without.",
        ),
        Subset("mini", "mdk12", "sample", "A sample, as large in each difficulty, with every knowledge point in it."),
    )
}
