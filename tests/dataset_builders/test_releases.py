"""Releases over time: what is added, what is refused, what is withdrawn, and that old files stay as they are."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.questions import load_questions, read_card
from livek12.dataset_builders import build, validate
from livek12.dataset_builders.writing.card import read_withdrawn
from livek12.dataset_builders.writing.statistics import read_statistics
from tests.dataset_builders.pictures import picture
from tests.scripts.command import livek12

STEMS = [
    "A bag holds 3 red and 5 blue marbles. Two are drawn without looking. How likely is it that both are red?",
    "The line y = 2x + 1 meets the circle around the origin with radius 4 in two points. How far apart are they?",
    "A train leaves at noon with 60 km/h, another an hour later with 90 km/h. When does the second one overtake?",
]
LATER = [
    "Solve the equation x^2 - 7x + 12 = 0 and give the larger solution.",
    "In how many ways can 6 people sit at a round table so that two given persons are not neighbours?",
]
Rows = list[dict[str, Any]]


def rows(release: str, texts: list[str], first: int = 1) -> Rows:
    return [
        {"id": f"en_{release}_math_{n:04d}", "set": release, "subject": "math", "question": text, "answer": ["1"]}
        for n, text in enumerate(texts, first)
    ]


def source(file: Path, listed: Rows) -> str:
    file.write_text("".join(json.dumps(row) + "\n" for row in listed))
    return str(file)


def tables(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*.parquet"))
    }


def ids(folder: Path, *, withdrawn: bool = False) -> list[str]:
    found = load_questions(folder, ["default"], "livek12")
    return [question.id for question in found if bool(question.removed_in) == withdrawn]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    listed = rows("2603", STEMS)
    listed[1]["images"] = ["circle.png"]
    (tmp_path / "circle.png").write_bytes(picture(1))
    build("livek12", source(tmp_path / "old.jsonl", listed), tmp_path / "old")
    return tmp_path / "old"


def test_a_release_is_added_and_old_files_stay(old: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    before = tables(old)
    report = build("livek12", source(tmp_path / "new.jsonl", rows("2605", LATER)), tmp_path / "new", base=str(old))
    assert report.skipped == []
    assert tables(old) == before
    assert before.items() <= tables(tmp_path / "new").items()
    assert set(read_card(tmp_path / "new")["default"]) == {"en_2603", "en_2605"}
    loaded = load_dataset(str(tmp_path / "new"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(found) for split, found in loaded.items()} == {"en_2603": 3, "en_2605": 2}
    assert validate(tmp_path / "new") == []
    assert [(entry["release"], entry["added"]) for entry in read_statistics(tmp_path / "new")["releases"]] == [
        ("2603", {"en": 3}),
        ("2605", {"en": 2}),
    ]
    assert "| 2605 | en 2 | |" in (tmp_path / "new" / "README.md").read_text()


def test_added_step_by_step_or_built_at_once_is_the_same_to_readers(old: Path, tmp_path: Path) -> None:
    build("livek12", source(tmp_path / "new.jsonl", rows("2605", LATER)), tmp_path / "added", base=str(old))
    both = source(tmp_path / "old.jsonl", [*map(json.loads, (tmp_path / "old.jsonl").open()), *rows("2605", LATER)])
    build("livek12", both, tmp_path / "both")
    assert read_statistics(tmp_path / "added") == read_statistics(tmp_path / "both")
    assert tables(tmp_path / "added") == tables(tmp_path / "both")


def test_a_release_that_is_there_adds_nothing(old: Path, tmp_path: Path) -> None:
    again = [*map(json.loads, (tmp_path / "old.jsonl").open()), *rows("2605", LATER)]
    report = build("livek12", source(tmp_path / "both.jsonl", again), tmp_path / "new", base=str(old))
    assert report.written == 5
    assert f"livek12 en 2603: already in {old}, the same 3 questions" in report.notes
    once_more = build("livek12", str(tmp_path / "both.jsonl"), tmp_path / "third", base=str(tmp_path / "new"))
    assert once_more.written == 5
    assert tables(tmp_path / "third") == tables(tmp_path / "new")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda listed: listed[0].update(answer=["2"]), r"en_2603_math_0001 has other content there"),
        (lambda listed: listed[0].update(id="en_2603_math_0009"), r"en_2603_math_0009 is not in it"),
        (lambda listed: listed.pop(), r"en_2603_math_0003 is missing now \(1 questions are\)"),
    ],
)
def test_a_release_is_never_rewritten(old: Path, tmp_path: Path, change: Any, said: str) -> None:
    listed: Rows = [*map(json.loads, (tmp_path / "old.jsonl").open())]
    change(listed)
    with pytest.raises(UserError, match=said) as caught:
        build("livek12", source(tmp_path / "old.jsonl", listed), tmp_path / "new", base=str(old))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_near_duplicates_of_older_releases_are_left_out_with_the_pair(old: Path, tmp_path: Path) -> None:
    reworded = "12. (5 points) " + STEMS[0].replace("marbles", "Marbles").replace(". Two", ".  Two")
    other_numbers = STEMS[2].replace("60", "40").replace("90", "70")
    listed = rows("2605", [reworded, other_numbers, LATER[0]])
    report = build("livek12", source(tmp_path / "new.jsonl", listed), tmp_path / "new", base=str(old))
    (line,) = report.skipped
    assert line.startswith(
        "livek12 en 2605 (en_2605_math_0001): left out: near-duplicate of en_2603_math_0001 (1.00): "
    )
    assert line.count("A bag holds 3 red") == 2
    assert ids(tmp_path / "new")[3:] == ["en_2605_math_0002", "en_2605_math_0003"]
    (note,) = [note for note in report.notes if "variant" in note]
    assert "(en_2605_math_0002): a variant (other numbers) of en_2603_math_0003" in note
    assert validate(tmp_path / "new") == []
    ended = livek12(
        "build", "livek12", "--source", tmp_path / "new.jsonl", "--base", old, "--out", tmp_path / "command"
    )
    assert ended.code == 1
    assert line in ended.out


def test_ids_of_older_releases_keep_their_meaning(old: Path, tmp_path: Path) -> None:
    listed = rows("2605", LATER)
    listed[0]["id"] = "en_2603_math_0001"
    report = build("livek12", source(tmp_path / "new.jsonl", listed), tmp_path / "new", base=str(old))
    assert ids(tmp_path / "new")[3:] == ["en_2603_math_0001-2", "en_2605_math_0002"]
    assert any("an older release has this id: named en_2603_math_0001-2" in note for note in report.notes)


def test_a_source_that_grows_is_built_again_and_again(old: Path, tmp_path: Path) -> None:
    """Upstream's whole data each time: what a release before refused or renamed stands in nobody's way."""
    second = rows("2605", [STEMS[0], *LATER])
    second[1]["id"] = "en_2603_math_0001"
    places = [str(old)]
    for listed, left_out in ((second, 1), (second, 1), ([*second, *rows("2607", ["Prove that 7 is a prime."])], 1)):
        place = tmp_path / f"revision{len(places)}"
        report = build("livek12", source(tmp_path / "all.jsonl", listed), place, base=places[-1])
        assert ["near-duplicate of en_2603_math_0001" in line for line in report.skipped] == [True] * left_out
        assert validate(place) == []
        places.append(str(place))
    assert ids(Path(places[1])) == ids(Path(places[2])) == ids(Path(places[3]))[:5]
    assert ids(Path(places[3]))[3:] == ["en_2603_math_0001-2", "en_2605_math_0003", "en_2607_math_0001"]
    with pytest.raises(UserError, match="en_2605_math_0009 is not in it"):
        new = rows("2605", ["Draw the graph of a cubic that has no turning point at all."], 9)
        build("livek12", source(tmp_path / "all.jsonl", [*second, *new]), tmp_path / "no", base=places[-1])


def test_a_benchmark_of_one_split_grows_by_files(cfe_data: str, tmp_path: Path) -> None:
    before = tables(Path(cfe_data))
    row = {
        "id": "new-1",
        "release": "2611",
        "question": {"text": "A ball of 2 kg falls 3 m. How much kinetic energy has it gained?", "images": []},
        "answer": {"text": "58.8 J", "images": []},
        "short_answer_value": ["58.8 J"],
        "short_answer_variable": ["E"],
        "short_answer_description": ["energy"],
        "short_answer_type": ["numeric"],
        "reasoning_flow": [],
    }
    (tmp_path / "CFE_text.json").write_text(json.dumps([row]))
    with pytest.raises(UserError, match="release cfe en not stated is already in"):
        build("cfe", str(tmp_path / "CFE_text.json"), tmp_path / "new", base=cfe_data)
    assert tables(Path(cfe_data)) == before


def test_withdrawing(old: Path, tmp_path: Path) -> None:
    file = tmp_path / "withdraw.csv"
    file.write_text('id,reason,release\nen_2603_math_0002,"the figure, as printed, is wrong",2605\n')
    before = tables(old)
    build("livek12", source(tmp_path / "n.jsonl", rows("2605", LATER)), tmp_path / "new", base=str(old), withdraw=file)
    after = tables(tmp_path / "new")
    assert {name for name in before if after[name] != before[name]} == {"text_image/en_2603-00000-of-00001.parquet"}
    assert ids(tmp_path / "new", withdrawn=True) == ["en_2603_math_0002"]
    assert ids(old, withdrawn=True) == []
    assert tables(old) == before
    (was,) = [q for q in load_questions(old, ["default"], "livek12") if q.id == "en_2603_math_0002"]
    (now,) = [q for q in load_questions(tmp_path / "new", ["default"], "livek12") if q.id == "en_2603_math_0002"]
    assert now == was.model_copy(update={"removed_in": "2605"})
    assert read_withdrawn(tmp_path / "new") == [
        {"id": "en_2603_math_0002", "removed_in": "2605", "reason": "the figure, as printed, is wrong"}
    ]
    card = (tmp_path / "new" / "README.md").read_text()
    assert r"| 2605 | en 2 | en\_2603\_math\_0002 |" in card
    assert "the figure, as printed, is wrong" in card
    assert validate(tmp_path / "new") == []
    third = build(
        "livek12",
        source(tmp_path / "3.jsonl", rows("2607", ["What is 17 times 23?"])),
        tmp_path / "third",
        base=str(tmp_path / "new"),
    )
    assert third.written == 6
    assert read_withdrawn(tmp_path / "third") == read_withdrawn(tmp_path / "new")


def test_a_reason_on_the_card_hides_nothing(old: Path, tmp_path: Path) -> None:
    file = tmp_path / "withdraw.csv"
    file.write_text("en_2603_math_0002,wrong\u202ethgir\U000e0041,2605\n")
    build("livek12", "", tmp_path / "less", base=str(old), withdraw=file)
    card = (tmp_path / "less" / "README.md").read_text()
    assert r"wrong\[U+202E\]thgir\[U+E0041\]" in card
    assert not {"\u202e", "\U000e0041"} & set(card)


def test_withdrawing_alone_and_the_corrected_question(old: Path, tmp_path: Path) -> None:
    file = tmp_path / "withdraw.csv"
    file.write_text("en_2603_math_0001, misprint, 2605\n")
    report = build("livek12", "", tmp_path / "less", base=str(old), withdraw=file)
    assert report.written == 3
    assert ids(tmp_path / "less", withdrawn=True) == ["en_2603_math_0001"]
    corrected = source(tmp_path / "c.jsonl", rows("2605", [STEMS[0]]))
    assert build("livek12", corrected, tmp_path / "new", base=str(tmp_path / "less")).skipped == []
    assert sorted(ids(tmp_path / "new")) == ["en_2603_math_0002", "en_2603_math_0003", "en_2605_math_0001"]


def test_an_exam_does_not_ask_what_is_withdrawn(old: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from livek12.evaluation.task_data import load_task_data
    from livek12.tasks.registry import get_task

    file = tmp_path / "withdraw.csv"
    file.write_text("en_2603_math_0001,misprint,2605\n")
    build("livek12", "", tmp_path / "less", base=str(old), withdraw=file)
    exam = load_task_data(str(tmp_path / "less"), [get_task("livek12_text_only")], None)
    assert [question.id for question in exam.questions["livek12_text_only"]] == ["en_2603_math_0003"]
    assert "livek12_text_only: 1 withdrawn questions are not asked (the first: en_2603_math_0001)" in caplog.messages


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nobody,typo,2605\n", "has no question nobody to withdraw"),
        ("en_2603_math_0001,typo\n", r"withdraw\.csv:1: a line is ID, REASON, RELEASE"),
        ("en_2603_math_0001,,2605\n", "a line is ID, REASON, RELEASE"),
        ("en_2603_math_0001,a,2605\nen_2603_math_0001,b,2605\n", r"withdraw\.csv:2: en_2603_math_0001 is already"),
        ("# nothing\n", "names no question to withdraw"),
        ("\udcff", "cannot be read as a list of withdrawals"),
    ],
)
def test_bad_withdrawals(old: Path, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "withdraw.csv"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=said) as caught:
        build("livek12", "", tmp_path / "new", base=str(old), withdraw=file)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_wrong_bases(old: Path, tmp_path: Path) -> None:
    new = source(tmp_path / "new.jsonl", rows("2605", LATER))
    with pytest.raises(UserError, match="no such folder"):
        build("livek12", new, tmp_path / "new", base=str(tmp_path / "nowhere"))
    build("sample", "", tmp_path / "sample")
    with pytest.raises(UserError, match="is a data set of sample, not of livek12"):
        build("livek12", new, tmp_path / "new", base=str(tmp_path / "sample"))
    with pytest.raises(UserError, match="--withdraw needs --base"):
        build("livek12", new, tmp_path / "new", withdraw=tmp_path / "x.csv")
    assert not (tmp_path / "new").exists()


def test_pages_of_a_paper_are_never_rewritten(tmp_path: Path) -> None:
    def paper(name: str, release: str, page: bytes, paper_id: str, text: str) -> str:
        (tmp_path / name / "pages").mkdir(parents=True)
        (tmp_path / name / "pages" / f"{paper_id}_1.png").write_bytes(page)
        (listed,) = rows(release, [text])
        (tmp_path / name / "rows.json").write_text(
            json.dumps([{**listed, "paper_id": paper_id, "page_numbers": [1], "number": 1}])
        )
        return str(tmp_path / name)

    build("livek12", paper("a", "2603", picture(1), "en_2603_p", STEMS[0]), tmp_path / "old")
    added = build(
        "livek12", paper("b", "2605", picture(2), "en_2605_p", LATER[0]), tmp_path / "new", base=str(tmp_path / "old")
    )
    assert added.configs["image_only"] == {"en_2605": 1, "en_2603": 1}
    assert validate(tmp_path / "new") == []
    with pytest.raises(UserError, match="page 1 of paper en_2603_p is another picture"):
        build(
            "livek12", paper("c", "2607", picture(3), "en_2603_p", LATER[1]), tmp_path / "x", base=str(tmp_path / "old")
        )


def test_a_new_release_in_the_one_split_of_a_benchmark(tmp_path: Path) -> None:
    def listed(release: str, texts: list[str]) -> str:
        file = tmp_path / f"kmmmu_{release}.jsonl"
        entries = [
            {"id": f"{release}-{n}", "release": release, "question": text, "answer": "3", "question_type": "주관식"}
            for n, text in enumerate(texts)
        ]
        return source(file, entries)

    first = ["반지름이 3인 원의 넓이를 구하시오.", "어느 회사의 작년 매출은 120억 원이었다. 올해 매출을 구하시오."]
    build("kmmmu", listed("2025", first), tmp_path / "old")
    build(
        "kmmmu",
        listed("2026", ["정육면체의 한 모서리가 4일 때 부피를 구하시오."]),
        tmp_path / "new",
        base=str(tmp_path / "old"),
    )
    build("kmmmu", listed("2027", ["소수 11의 다음 소수를 쓰시오."]), tmp_path / "third", base=str(tmp_path / "new"))
    assert list(tables(tmp_path / "third")) == [
        "default/test-00000-of-00001.parquet",
        "default/test-add01-00000-of-00001.parquet",
        "default/test-add02-00000-of-00001.parquet",
    ]
    assert tables(tmp_path / "new").items() <= tables(tmp_path / "third").items()
    found = load_questions(tmp_path / "third", ["default"], "kmmmu")
    assert [question.id for question in found] == ["2025-0", "2025-1", "2026-0", "2027-0"]
    only = load_questions(tmp_path / "third", ["default"], "kmmmu", releases=["2026", "2027"])
    assert [question.id for question in only] == ["2026-0", "2027-0"]
    assert validate(tmp_path / "third") == []


def test_a_data_set_may_grow_in_its_own_folder(old: Path, tmp_path: Path) -> None:
    before = tables(old)
    assert build("livek12", source(tmp_path / "new.jsonl", rows("2605", LATER)), old, base=str(old)).written == 5
    assert before.items() < tables(old).items()
    assert validate(old) == []
    changed: Rows = [*map(json.loads, (tmp_path / "old.jsonl").open())]
    changed[0]["answer"] = ["2"]
    grown = tables(old)
    with pytest.raises(UserError, match="is already in"):
        build("livek12", source(tmp_path / "bad.jsonl", changed), old, base=str(old))
    assert tables(old) == grown


TURNED = "Which of these is {} a property of every square, whatever its size and wherever it is drawn on the page?"
FOUR = "\nA. four right angles\nB. four equal sides\nC. five corners\nD. two diagonals of one length"
CIRCLED = "다음 중 바르게 짝지은 것을 모두 고르면 무엇인가?\n① 가을 나무\n② 다리 라면\n③ 마음 바다\n④ 사랑 아침"


@pytest.mark.parametrize("seed", range(6))
def test_hidden_keys_have_no_part_in_what_is_a_near_duplicate(seed: int, tmp_path: Path) -> None:
    """Builds on an older release leave the same rows out, and say the same of them, whatever the keys are."""

    def keyed(release: str, texts: list[str], draw: random.Random) -> Rows:
        listed = rows(release, texts)
        for row in listed:
            row["language"] = "ko" if "다음" in row["question"] else "en"
            several = "".join(sorted(draw.sample("1234" if row["language"] == "ko" else "ABCD", draw.randint(1, 3))))
            row["answer"] = [several] if "A. " in row["question"] or "①" in row["question"] else [str(draw.random())]
            row["question_type"] = "选择题" if len(row["answer"][0]) < 4 else "解答题"
            row.update(draw.choice([{}, {"solution": f"so {draw.random()}"}]))
        return listed

    def told(name: str, draw: random.Random) -> tuple[list[str], list[str], list[str]]:
        out = tmp_path / name
        out.mkdir()
        first = keyed("2603", [STEMS[0], TURNED.format("") + FOUR, CIRCLED], draw)
        build("livek12", source(out / "old.jsonl", first), out / "old")
        again = [
            STEMS[0],
            *(TURNED.format(word) + FOUR for word in ("", "not")),
            CIRCLED,
            CIRCLED.replace("모두", "다"),
        ]
        later = source(out / "new.jsonl", keyed("2605", again, draw))
        report = build("livek12", later, out / "new", base=str(out / "old"))
        return report.skipped, [note for note in report.notes if "variant" in note], ids(out / "new")

    plain = told("plain", random.Random(0))
    assert [re.findall(r"\((\w+)\)", line)[0][-1] for line in plain[0]] == ["1", "2", "4"]
    assert [re.findall(r"\((\w+)\)", line)[0][-1] for line in plain[1]] == ["3", "5"]
    assert all("(other wording)" in note for note in plain[1])
    assert told("other", random.Random(seed + 1)) == plain
