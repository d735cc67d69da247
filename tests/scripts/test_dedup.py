"""`livek12 dedup`: pairs for decision, decisions that are kept, doubts on drafts, and what it says of bad input."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Option
from livek12.dataset_builders import build
from livek12.dataset_builders.duplicates.search import IN_FOLDER, Found, search
from livek12.dataset_builders.ingest.drafts import Doubt, Draft, Figure, IngestedPaper
from livek12.dataset_builders.ingest.folder import Folder
from tests.dataset_builders.pictures import picture
from tests.scripts.command import livek12_here

BAG = "A bag holds 3 red and 5 blue marbles. Two are drawn without looking. How likely is it that both are red?"
LINE = "The line y = 2x + 1 meets the circle around the origin with radius 4 in two points. How far apart are they?"
TRAIN = "A train leaves at noon with 60 km/h, another an hour later with 90 km/h. When does the second overtake?"
Rows = list[dict[str, Any]]


def row(id: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "set": "en_2605", "subject": "math", "question": text, "answer": ["1"], **fields}


def source(file: Path, rows: Rows) -> str:
    file.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return str(file)


def pairs_in(file: Path) -> Rows:
    if file.suffix == ".csv":
        with file.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def decide(file: Path, decision: str, *, by: str = "kim") -> None:
    """What a reviewer does with the first pair."""
    rows = pairs_in(file)
    rows[0] |= {"decision": decision, "by": by}
    if file.suffix == ".csv":
        with file.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        file.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")


@pytest.fixture
def rows(tmp_path: Path) -> str:
    listed = [row("q1", BAG), row("q2", LINE), row("q3", f"7. (5 points) {BAG}"), row("q4", BAG.replace("5 b", "9 b"))]
    return source(tmp_path / "rows.jsonl", listed)


def test_the_command_from_rows_to_pairs(rows: str, tmp_path: Path) -> None:
    ended = livek12_here("dedup", rows, "--out", tmp_path / "pairs.jsonl", "--json")
    assert ended.code == 0, ended.err
    said = json.loads(ended.out)
    assert {name: said[name] for name in ("questions", "against", "duplicates", "variants", "open", "decided")} == {
        "questions": 4,
        "against": 0,
        "duplicates": 1,
        "variants": 2,
        "open": 1,
        "decided": 0,
    }
    first, *variants = pairs_in(tmp_path / "pairs.jsonl")
    assert (first["id"], first["other"], first["kind"], first["similarity"]) == ("q3", "q1", "duplicate", 1.0)
    assert first["text"].startswith("7. (5 points) A bag holds 3 red")
    assert {(one["id"], one["other"], one["why"]) for one in variants} == {
        ("q4", "q1", "other numbers"),
        ("q4", "q3", "other numbers"),
    }
    bad = livek12_here("dedup", tmp_path / "nowhere.jsonl", "--out", tmp_path / "pairs.jsonl")
    assert bad.code == 2
    assert len(bad.errors) == 1
    assert "nowhere.jsonl" in bad.errors[0]


def test_a_row_that_cannot_be_read_is_said_and_the_others_go_on(tmp_path: Path) -> None:
    listed = source(tmp_path / "rows.jsonl", [row("q1", BAG), row("q2", ""), row("q3", BAG)])
    ended = livek12_here("dedup", listed, "--out", tmp_path / "pairs.jsonl")
    assert ended.code == 1
    assert [line for line in ended.err.splitlines() if "q2" in line and "left out" in line]
    assert len(pairs_in(tmp_path / "pairs.jsonl")) == 1


@pytest.mark.parametrize("name", ["pairs.jsonl", "pairs.csv"])
def test_a_decision_is_kept_while_the_texts_stay(rows: str, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert search([rows], [], out).counts["open"] == 1
    decide(out, "Newer wins")
    again = search([rows], [], out)
    assert (again.counts["open"], again.counts["decided"]) == (0, 1)
    assert (pairs_in(out)[0]["decision"], pairs_in(out)[0]["by"]) == ("newer wins", "kim")

    listed = [json.loads(line) for line in Path(rows).read_text().splitlines()]
    listed[2]["question"] += " Give a fraction."
    source(Path(rows), listed)
    changed = search([rows], [], out)
    assert (changed.counts["open"], changed.counts["decided"]) == (1, 0)
    assert [line for line in changed.lines if "other texts" in line and "q3" in line]
    decide(out, "same")
    newer = search([rows], [], out)
    assert (newer.counts["open"], newer.counts["decided"], newer.lines) == (0, 1, [])
    listed.pop(2)
    source(Path(rows), listed)
    assert search([rows], [], out).counts["duplicates"] == 0


def test_a_decision_outlives_its_pair(rows: str, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    before = Path(rows).read_text()
    search([rows], [], out)
    decide(out, "different")
    source(Path(rows), [row("q1", BAG)])
    assert search([rows], [], out).counts["decided"] == 0
    assert [one["decision"] for one in pairs_in(out)] == ["different"]
    Path(rows).write_text(before)
    assert search([rows], [], out).counts["decided"] == 1


def test_a_decision_that_is_none_is_said(rows: str, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    search([rows], [], out)
    decide(out, "perhaps")
    found = search([rows], [], out)
    assert found.counts["open"] == 1
    assert [line for line in found.lines if "'perhaps'" in line and "q3" in line]
    out.write_text("not a pair\n")
    with pytest.raises(UserError, match=r"pairs\.jsonl: cannot be read as pairs"):
        search([rows], [], out)
    with pytest.raises(UserError, match="ends in"):
        search([rows], [], tmp_path / "pairs.txt")


def test_cells_are_no_formulas(tmp_path: Path) -> None:
    text = "=HYPERLINK(1) " + BAG
    listed = source(tmp_path / "rows.jsonl", [row("-1", text), row("+2", text)])
    out = tmp_path / "pairs.csv"
    search([listed], [], out)
    (found,) = pairs_in(out)
    assert not [cell for cell in found.values() if cell[:1] in ("=", "+", "-", "@")]
    decide(out, "same")
    assert search([listed], [], out).counts["decided"] == 1


def test_nothing_to_compare_is_said(tmp_path: Path) -> None:
    empty = source(tmp_path / "rows.jsonl", [row("q1", "")])
    with pytest.raises(UserError, match=r"no question to compare \(1 left out; the first: .*q1"):
        search([empty], [], tmp_path / "pairs.jsonl")
    with pytest.raises(UserError, match="no question to compare"):
        search([str(ingested(tmp_path / "in", {"p": []}).root)], [], None)


def test_against_an_earlier_release(rows: str, tmp_path: Path) -> None:
    earlier = [{**row(id, text), "set": "en_2601"} for id, text in (("old1", BAG), ("old2", BAG), ("old3", TRAIN))]
    build("livek12", source(tmp_path / "old.jsonl", earlier), tmp_path / "old")
    found = search([rows], [str(tmp_path / "old")], tmp_path / "pairs.jsonl")
    assert (found.questions, found.against) == (4, 3)
    duplicates = [one for one in pairs_in(found.out) if one["kind"] == "duplicate"]
    assert {(one["id"], one["other"], one["other_release"]) for one in duplicates} == {
        ("q1", "old1", "2601"),
        ("q1", "old2", "2601"),
        ("q3", "old1", "2601"),
        ("q3", "old2", "2601"),
        ("q3", "q1", "2605"),
    }, "the earlier ones are not compared among themselves"
    only = search([rows], [str(tmp_path / "old")], tmp_path / "few.jsonl", variants=False)
    assert only.counts["variants"] == 0
    assert only.counts["duplicates"] == 5


def draft(id: str, text: str, **fields: Any) -> Draft:
    return Draft(id=id, number="1", language="en", question_type="short_answer", question=text, **fields)


def ingested(root: Path, papers: dict[str, list[Draft]]) -> Folder:
    folder = Folder(root)
    for name, drafts in papers.items():
        known = {"sha256": name, "pages": 1, "language": "en", "template": "english", "release": "2605"}
        folder.save(IngestedPaper(paper_id=name, source=f"{name}.pdf", drafts=drafts, **known), {})
    return folder


def doubts(folder: Folder) -> dict[str, list[str]]:
    return {
        draft.id: [doubt.text for doubt in draft.doubts if doubt.kind == "duplicate"]
        for paper in folder.papers()
        for draft in paper.drafts
    }


def test_pairs_become_doubts_on_drafts(tmp_path: Path) -> None:
    other = Doubt(kind="points", text="no points")
    papers = {"a": [draft("a-q1", BAG), draft("a-q2", LINE)], "b": [draft("b-q1", "1. " + BAG, doubts=[other])]}
    folder = ingested(tmp_path / "in", papers)
    found = search([str(folder.root)], [], None)
    assert found.out == folder.root / IN_FOLDER
    assert (found.questions, found.counts["duplicates"]) == (3, 1)
    said = doubts(folder)
    assert said["a-q2"] == []
    assert said["a-q1"][0].startswith("duplicate of b-q1 (same text): 1. A bag")
    assert said["b-q1"][0].startswith("duplicate of a-q1 (same text): A bag")
    held = folder.paper("b")
    assert held is not None
    assert other in held.drafts[0].doubts, "other doubts stay"
    assert held.drafts[0].confidence < 0.5

    search([str(folder.root)], [], None)
    assert doubts(folder) == said, "done again, nothing is said twice"
    decide(found.out, "same")
    search([str(folder.root)], [], None)
    assert "decided: same" in doubts(folder)["a-q1"][0]
    decide(found.out, "different")
    search([str(folder.root)], [], None)
    assert doubts(folder) == {"a-q1": [], "a-q2": [], "b-q1": []}
    assert search([str(folder.root)], [str(folder.root)], tmp_path / "twice.jsonl").counts["duplicates"] > 0


def test_figures_of_drafts(tmp_path: Path) -> None:
    folder = ingested(
        tmp_path / "in",
        {
            "a": [
                draft("a-q1", "See the figure. <image> Find x.", figures=[Figure(name="one.png")]),
                draft("a-q2", "See the figure. <image> Find x.", figures=[Figure(name="two.png")]),
                draft("a-q3", TRAIN, figures=[Figure(name="gone.png")]),
            ]
        },
    )
    for name, number in (("one.png", 1), ("two.png", 5)):
        (folder.root / "images" / name).write_bytes(picture(number, size=(200, 150)))

    def run(**options: bool) -> Found:
        return search([str(folder.root)], [], tmp_path / f"{len(options)}.jsonl", **options)

    found = run()
    assert found.failed
    assert [line for line in found.lines if "gone.png" in line and "a-q3" in line]
    (pair,) = pairs_in(found.out)
    same = (folder.root / "images" / "one.png").read_bytes()
    (folder.root / "images" / "two.png").write_bytes(same)
    (again,) = pairs_in(run().out)
    assert (again["kind"], again["figures"]) == ("duplicate", 0.0)
    assert pair["figures"] is None or pair["figures"] > 0
    assert pairs_in(run(pictures=False).out)[0]["figures"] is None
    assert not run(pictures=False).failed


def test_options_in_another_order_from_an_ingested_folder(tmp_path: Path) -> None:
    texts = ["a half of it", "a third of it", "all of it", "nothing"]
    listed = [Option(label=label, text=text) for label, text in zip("ABCD", texts, strict=True)]
    other = [Option(label=label, text=text) for label, text in zip("ABCD", texts[::-1], strict=True)]
    drafts = [draft("q1", LINE, options=listed, answer=["A"]), draft("q2", LINE, options=other, answer=["D"])]
    found = search([str(ingested(tmp_path / "in", {"p": drafts}).root)], [], None)
    assert found.counts["duplicates"] == 1
