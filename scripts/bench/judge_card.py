"""Writes the judge card: what was measured of the rules, on which labelled answers, and what that saves.

`python scripts/bench/judge_card.py FIGURES.json [--attacks FILE.json] [--costs "LABEL=FILE.json"]… [--agreement
"LABEL=FILE.json"]… --out FILES` makes `judge-card.json` and `.md` from the `--json` of `judges.py`, `attacks.py`,
`panel.py` and `livek12 study agreement`. Only `speed` differs between two measurements of one state.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from livek12.scripts.bench.common import framed, markdown_table, percent, write_json

Json = dict[str, Any]
JUDGES = 3
REPLY_TOKENS = 120
"""What a judge is taken to write for each request."""
SHOWN_SIDES = ("livek12", "livek12, without conventions", "math-verify", "latex2sympy2_extended")
ATTACKS = ("seed", "all", "classes", "languages", "kinds")
SHOWN = ("rows", "decided", "coverage", "precision", "precision_low", "false_accepts", "false_rejects")
LANGUAGES = {"en": "English", "zh": "Chinese", "ko": "Korean"}
SHOWN_WRONG = ("false accepts", "false rejects")
ABOUT = {
    "math_verify_cases": "the test cases of math-verify itself",
    "olympiadbench_scoring_examples": "the examples of OlympiadBench's scorer",
    "hardverify": "HardVerify-Math: hard pairs, each with a right and a wrong answer",
    "teachers, choices": "choice questions of the 2024 gaokao, models' answers with full or zero marks by teachers",
    "mathvista": "MathVista testmini, 17 models (lupantech/MathVista, commit 53d5258); its labels where its own"
    " extraction is an option or a number of the response",
    "gsm8k": "four models' solutions of GSM8K (openai/grade-school-math), labels of the authors",
    "yale_physics": "university physics (yale-nlp/Physics, commit 15dc8d9), labels by sympy and a model, noisy",
    "jeebench": "JEE Advanced, extracted by people (somethingdevs/cs678-jeebench)",
    "draw1k": "word problems answered in prose (lab-v2/ChatGPT_MWP_eval)",
    "tabmwp": "questions on tables (lupantech/PromptPG)",
    "zscot": "short reasoning tasks (kojima-takeshi188/zero_shot_cot)",
    "reread": "CommonsenseQA, SVAMP, GSM8K (Tebmer/Rereading-LLM-Reasoning)",
    "lawbench": "Chinese judicial exams and amounts (open-compass/LawBench)",
    "physics": "PhD-level physics, labels read and corrected (yale-nlp/Physics)",
    "ksat_json": "Korean CSAT 2025, answers in JSON (roboco-io/KSAT-AI-Benchmark)",
    "ko_mcq": "Korean choice questions (hsr87/evaluate-llm-on-korean-dataset)",
    "bbh": "BIG-Bench Hard (suzgunmirac/BIG-Bench-Hard)",
    "teachers, blanks": "blanks of the same papers, all subjects, full or zero marks by teachers",
}


def card(
    figures: Json,
    costs: Mapping[str, Json],
    attacks: Json | None = None,
    before: Json | None = None,
    agreements: Mapping[str, Json] | None = None,
) -> Json:
    """The card as data; `before` supplies costs and judged runs not given."""
    needs = {"judge": figures["versions"].get("judge"), "runs": {label: _cost(runs) for label, runs in costs.items()}}
    sets: Json = {}
    for name, results in figures["sets"].items():
        sets[name] = {side: {key: results[side][key] for key in SHOWN} for side in SHOWN_SIDES}
        sets[name] |= {"stages": results["stages"], "conventions": results["conventions"]}
        sets[name]["wrong"] = results["livek12"]["wrong"]
    return {
        "versions": figures["versions"],
        "sets": sets,
        "kinds": figures["kinds"],
        "languages": figures["languages"],
        "parts": figures.get("parts") or (before or {}).get("parts", {}),
        "attacks": {key: attacks[key] for key in ATTACKS} if attacks else None,
        "conventions": figures["conventions"],
        "needs_a_model": before["needs_a_model"] if before and not costs else needs,
        "judged": _judged_runs(agreements) if agreements else (before or {}).get("judged", []),
        "speed": {"workers": figures["workers"], "ratio": figures["ratio"], "sides": figures["sides"]},
    }


def _judged_runs(agreements: Mapping[str, Json]) -> list[Json]:
    return [
        {"label": f"{label}, {run}", "rater": rater, "labelled": beside["labelled"], "stages": beside["by_stage"]}
        for label, runs in agreements.items()
        for run, results in runs.items()
        for rater, beside in results["raters"].items()
    ]


def _cost(runs: Mapping[str, Json]) -> Json:
    def total(way: str, field: str) -> int:
        return sum(run[way][field] for run in runs.values())

    ways: Json = {}
    for way in ("with_rules", "without_rules"):
        requests = total(way, "requests")
        ways[way] = {
            "answers": total(way, "answers"),
            "requests": JUDGES * requests,
            "characters": JUDGES * total(way, "characters"),
            "tokens": JUDGES * (total(way, "tokens") + REPLY_TOKENS * requests) if total(way, "tokens") else None,
        }
    return {"answers": sum(run["answers"] for run in runs.values()), **ways}


# --- as text ------------------------------------------------------------------------------------------------------


def text(found: Json) -> str:
    """The card as Markdown."""
    return framed("judge-card", _sections(found))


def _sections(data: Json) -> Iterator[str]:
    sets = data["sets"]
    yield "## By set"
    yield _judged("set", [_row(name, side, figures) for name, of in sets.items() for side, figures in _sides(of)])
    yield "\n".join(f"- {name}: {ABOUT[name]}" for name in sets if name in ABOUT)
    yield "## By type of answer and language"
    yield (
        "All sets together, without the debatable labels. The type follows from the key (`scripts/bench/labelled.py`)."
    )
    groups = {**data["kinds"], **{LANGUAGES[name]: of for name, of in data["languages"].items()}}
    yield _judged(
        "rows of",
        [
            _row(name, side, figures)
            for name, of in groups.items()
            for side, figures in of.items()
            if figures["decided"]
        ],
    )
    if data.get("parts"):
        yield "## Open and closed parts of other sources"
        yield (
            "Authors of rules may read the open part of a source. The closed part is only counted, once a version: the"
            " difference shows how much the rules owe to answers that they have met."
        )
        parts = [
            (f"{name}, {part}", side, of)
            for name, by_part in data["parts"].items()
            for part, sides in by_part.items()
            for side, of in sides.items()
        ]
        yield _judged("source", [_row(*row) for row in parts])
        yield "\n".join(f"- {name}: {ABOUT[name]}" for name in data["parts"] if name in ABOUT)
    if data["attacks"]:
        yield "## Attacks"
        yield from _attacks(data["attacks"])
    yield "## By stage"
    yield (
        "The stages that decided a row, and their share of the rows of the set. `extraction`: the response is empty,"
        " or has nothing for one of the blanks. Several stages are named if each decided a part of the answer."
    )
    stages = [(name, *figures) for name, of in sets.items() for figures in of["stages"].items()]
    yield _judged(
        "set", [_row(name, stage, {"rows": figures["decided"], **figures}) for name, stage, figures in stages], "stage"
    )
    if data.get("judged"):
        yield "## Judge models, by stage"
        yield (
            "Runs that people have labelled: what each stage decided of the labelled answers, rules and judge models"
            " (`livek12 study agreement RUN --labels FILE --json`)."
        )
        head = ("run", "beside", "stage", "labelled", "coverage", "precision", "at least", *SHOWN_WRONG)
        yield markdown_table(head, [row for figures in data["judged"] for row in _stage_rows(figures)])
    if data["needs_a_model"]["runs"]:
        yield "## What is left for judge models"
        yield (
            f"Answers that the rules leave open, and the tokens that a panel of {JUDGES} would read and write for them,"
            f" compared with the same panel without the rules. A reply is assumed to have {REPLY_TOKENS} tokens;"
            " retries, repeated votes and the audit of the reasoning are excluded."
            f" Version: {data['needs_a_model']['judge']}."
        )
        yield markdown_table(
            ("answers of", "answers", "need a model", "tokens", "without the rules", "saved"),
            [_cost_row(label, figures) for label, figures in data["needs_a_model"]["runs"].items()],
        )
    yield "## Wrong decisions"
    yield _wrong(data)
    yield "## Debatable labels"
    yield (
        "Labels that are wrong, or that follow only a convention of their library. All figures above include"
        " them, except those “without conventions”."
    )
    yield markdown_table(
        ("set", "row", "key", "answer", "why"),
        [
            (figures["set"], figures["id"], _code(figures["gold"]), _code(figures["answer"]), figures["why"])
            for figures in data["conventions"]
        ],
    )
    yield "## Speed"
    yield _speed(data["speed"])
    yield "## Versions"
    yield markdown_table(("what", "version"), list(data["versions"].items()))


def _judged(what: str, rows: Sequence[Sequence[str]], who: str = "judge") -> str:
    return markdown_table((what, who, "rows", "coverage", "precision", "at least", *SHOWN_WRONG), rows)


def _attacks(data: Json) -> Iterator[str]:
    yield (
        "Answers that we wrote to mislead the rules (`scripts/bench/attacks.py`), none from a data set: each class in"
        " English, Chinese and Korean, for several types of answer. Wrong answers may be rejected or left open; right"
        " answers in unusual form may be left open. “accepted” and “rejected” count the mistakes."
    )
    wrong = ("class", "wrong", "accepted", "left open", "math-verify accepts")
    right = ("right", "rejected", "left open", "math-verify rejects")
    languages = {LANGUAGES[name]: of for name, of in data["languages"].items()}
    groups = {**data["classes"], **languages, **data["kinds"], "**all**": data["all"]}
    yield markdown_table(
        (*wrong, *right), [_attack_row(name, of["livek12"], of["math-verify"]) for name, of in groups.items()]
    )


def _attack_row(name: str, ours: Json, theirs: Json) -> Sequence[str]:
    wrong, right = ours["wrong"], ours["right"]
    first = (wrong["rows"], wrong["accepted"], wrong["undecided"], theirs["wrong"]["accepted"])
    return (
        name,
        *map(str, (*first, right["rows"], right["rejected"], right["undecided"], theirs["right"]["rejected"])),
    )


def _sides(of: Json) -> Iterator[tuple[str, Json]]:
    for side in SHOWN_SIDES:
        if of[side]["decided"] and (of["conventions"] or not side.endswith("conventions")):
            yield side, of[side]


def _row(name: str, who: str, figures: Json) -> Sequence[str]:
    precise = (
        ("–", "–")
        if figures["precision"] is None
        else (percent(figures["precision"]), percent(figures["precision_low"]))
    )
    wrong = (str(figures["false_accepts"]), str(figures["false_rejects"]))
    return (name, who, str(figures["rows"]), percent(figures["coverage"]), *precise, *wrong)


def _stage_rows(figures: Json) -> Iterator[Sequence[str]]:
    for stage, of in figures["stages"].items():
        decided = {"rows": figures["labelled"], **of, "precision": of["as_human"] / of["decided"]}
        decided |= {"coverage": of["decided"] / figures["labelled"], "precision_low": of["precision_ci"][0]}
        yield _cell(figures["label"]), *_row(_cell(figures["rater"]), _cell(stage), decided)


def _cell(text: str) -> str:
    return re.sub(r"([\\`*\[\]<>|_])", r"\\\1", " ".join(text.split()))


def _cost_row(label: str, figures: Json) -> Sequence[str]:
    first, second = figures["with_rules"], figures["without_rules"]
    unit = "characters" if first["tokens"] is None else "tokens"
    size = [f"{way[unit]:,}" + (" characters" if unit == "characters" else "") for way in (first, second)]
    saved = percent(1 - first[unit] / second[unit]) if second[unit] else "–"
    share = f"{first['answers']:,} ({percent(first['answers'] / figures['answers'])})"
    return (label, f"{figures['answers']:,}", share, *size, saved)


def _wrong(data: Json) -> str:
    lines = []
    for name, of in data["sets"].items():
        for verdict, what in ((True, "accepted, labelled wrong"), (False, "rejected, labelled right")):
            rows = [row["id"] for row in of["wrong"] if row["said"] is verdict]
            named = [f"{row} (debatable)" if row in of["conventions"] else row for row in rows]
            if named:
                lines.append(f"- {name}: {what}: {', '.join(named)}")
    return "\n".join(lines) or "None."


def _speed(speed: Json) -> str:
    rows = [
        (
            side,
            f"{figures['rows_per_second']:.1f}",
            f"{figures['slowest_row']['seconds']:.2f}",
            f"{figures['peak_mib']:.0f}",
        )
        for side, figures in speed["sides"].items()
    ]
    summary = (
        f"{speed['workers']} warm workers each, caches empty, the same rows: {speed['ratio']:.1f} times as fast as"
    )
    summary += " math-verify."
    return (
        summary
        + "\n\n"
        + markdown_table(("side", "rows a second", "slowest row, s", "highest memory of a worker, MiB"), rows)
    )


def _code(value: str) -> str:
    shown = " ".join(value.split()).replace("|", "\\|")
    return f"`` {shown} ``"


def record(found: Json) -> Json:
    """Labelled answers that the rules decided, and wrong decisions among them."""
    ours = [of["livek12"] for of in found["sets"].values()]
    wrong = sum(figures["false_accepts"] + figures["false_rejects"] for figures in ours)
    return {"judge": found["versions"]["judge"], "decided": sum(figures["decided"] for figures in ours), "wrong": wrong}


def _labelled(option: str, given: Sequence[str]) -> dict[str, Json]:
    labelled: dict[str, Json] = {}
    for entry in given:
        label, equals, file = entry.rpartition("=")
        if not equals:
            sys.exit(f"{option} {entry}: is LABEL=FILE")
        labelled[label] = json.loads(Path(file).read_text(encoding="utf-8"))
    return labelled


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("figures", type=Path, help="what scripts/bench/judges.py --json wrote")
    parser.add_argument("--attacks", type=Path, help="what scripts/bench/attacks.py --json wrote")
    parser.add_argument(
        "--costs", action="append", default=[], metavar="LABEL=FILE", help="of panel.py --json; none keeps the old"
    )
    parser.add_argument(
        "--agreement", action="append", default=[], metavar="LABEL=FILE", help="of `livek12 study agreement --json`"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/judge-card"), help="the two files, without their ending")
    parser.add_argument("--record", type=Path, help="also write evaluation/studies/rules_record.json")
    arguments = parser.parse_args()
    costs, agreements = _labelled("--costs", arguments.costs), _labelled("--agreement", arguments.agreement)
    attacks = json.loads(arguments.attacks.read_text(encoding="utf-8")) if arguments.attacks else None
    stored = arguments.out.with_suffix(".json")
    before = json.loads(stored.read_text(encoding="utf-8")) if stored.is_file() else None
    result = card(json.loads(arguments.figures.read_text(encoding="utf-8")), costs, attacks, before, agreements)
    write_json(stored, result)
    arguments.out.with_suffix(".md").write_text(text(result), "utf-8")
    write_json(arguments.record, record(result))


if __name__ == "__main__":
    main()
