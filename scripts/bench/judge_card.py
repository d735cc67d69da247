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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from livek12.scripts.bench.common import framed, markdown_table, page_path, percent, write_json

Json = dict[str, Any]
JUDGES = 3
REPLY_TOKENS = 120
"""What a judge is taken to write for each request."""
SHOWN_SIDES = ("livek12", "livek12, without conventions", "math-verify", "latex2sympy2_extended")
ATTACKS = ("seed", "all", "classes", "languages", "kinds")
SHOWN = ("rows", "decided", "coverage", "precision", "precision_low", "false_accepts", "false_rejects")
LANGUAGES = {"en": "English", "zh": "Chinese", "ko": "Korean"}
SHOWN_WRONG = ("false accepts", "false rejects")
ABOUT: dict[str, str] = yaml.safe_load(page_path("judge-card.yaml").read_text("utf-8"))


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


def text(card: Json) -> str:
    """The card as Markdown."""
    sets, needs = card["sets"], card["needs_a_model"]
    groups = {**card["kinds"], **{LANGUAGES[name]: of for name, of in card["languages"].items()}}
    grouped = [(name, side, of) for name, sides in groups.items() for side, of in sides.items() if of["decided"]]
    by_part = card.get("parts") or {}
    parts = [(f"{name}, {part}", side, of) for name, each in by_part.items() for part, sides in each.items()
             for side, of in sides.items()]  # fmt: skip
    stages = [(name, stage, {"rows": of["decided"], **of}) for name, each in sets.items()
              for stage, of in each["stages"].items()]  # fmt: skip
    labelled = ("run", "beside", "stage", "labelled", "coverage", "precision", "at least", *SHOWN_WRONG)
    runs = [row for figures in card.get("judged") or () for row in _stage_rows(figures)]
    left = ("answers of", "answers", "need a model", "tokens", "without the rules", "saved")
    conventions = [(of["set"], of["id"], _code(of["gold"]), _code(of["answer"]), of["why"])
                   for of in card["conventions"]]  # fmt: skip
    shown = {
        "sets": _with_about(_judged("set", [(name, *of) for name, each in sets.items() for of in _sides(each)]), sets),
        "groups": _judged("rows of", grouped),
        "parts": _with_about(_judged("source", parts), by_part) if parts else "",
        "attacks": _attacks(card["attacks"]) if card["attacks"] else "",
        "stages": _judged("set", stages, "stage"),
        "runs": markdown_table(labelled, runs) if runs else "",
        "left": markdown_table(left, [_cost_row(*run) for run in needs["runs"].items()]) if needs["runs"] else "",
        "wrong": _wrong(card),
        "conventions": markdown_table(("set", "row", "key", "answer", "why"), conventions),
        "speed": _speed(card["speed"]),
        "versions": markdown_table(("what", "version"), list(card["versions"].items())),
    }
    return framed(
        "judge-card", {"judges": f"{JUDGES}", "reply": f"{REPLY_TOKENS}", "version": str(needs["judge"]), **shown}
    )


def _with_about(rows: str, names: Iterable[str]) -> str:
    return f"{rows}\n\n" + "\n".join(f"- {name}: {ABOUT[name]}" for name in names if name in ABOUT)


def _judged(what: str, rows: Iterable[tuple[str, str, Json]], who: str = "judge") -> str:
    head = (what, who, "rows", "coverage", "precision", "at least", *SHOWN_WRONG)
    return markdown_table(head, [_row(*row) for row in rows])


def _attacks(data: Json) -> str:
    wrong = ("class", "wrong", "accepted", "left open", "math-verify accepts")
    right = ("right", "rejected", "left open", "math-verify rejects")
    languages = {LANGUAGES[name]: of for name, of in data["languages"].items()}
    groups = {**data["classes"], **languages, **data["kinds"], "**all**": data["all"]}
    rows = [_attack_row(name, of["livek12"], of["math-verify"]) for name, of in groups.items()]
    return markdown_table((*wrong, *right), rows)


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
    head = ("side", "rows a second", "slowest row, s", "highest memory of a worker, MiB")
    rows = [
        (side, f"{of['rows_per_second']:.1f}", f"{of['slowest_row']['seconds']:.2f}", f"{of['peak_mib']:.0f}")
        for side, of in speed["sides"].items()
    ]
    summary = (
        f"{speed['workers']} warm workers each, caches empty, the same rows: {speed['ratio']:.1f} times as fast as"
    )
    return f"{summary} math-verify.\n\n{markdown_table(head, rows)}"


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
