"""Proposals and their review: criteria on real kinds of questions, sheets that lose nothing, members that count."""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.records import Flags, Page, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.proposals.subsets import criteria, sheet
from livek12.dataset_builders.proposals.subsets.candidates import Standing, candidate, measure, text_sha256
from livek12.dataset_builders.proposals.subsets.criteria import SUBSETS, CriteriaContext, subset_named
from livek12.dataset_builders.proposals.subsets.decided import Item, Sample, sample
from livek12.dataset_builders.proposals.subsets.proposing import Annotation, Wanted, _judged, _ranked
from livek12.dataset_builders.writing.listings import MemberRow, members_of, read_members, write_members
from tests.dataset_builders.subset_questions import picture, question
from tests.seconds import within

FAR = "物体在水平面上做匀加速直线运动，其初速度大小未知，" * 8
VISUAL = question(
    images=[picture(c) for c in ("red", "blue", "green")],
    question="如图甲、图乙所示的装置<image>与<image>相连，<image>图线",
)


def met(subset: str, asked: Question, others: list[Question] | None = None) -> set[str]:
    """The criteria that features find."""
    items = [candidate(q) for q in [asked, *(others or [])]]
    context = CriteriaContext(Standing.of(items))
    found = {c.name: c.rule(items[0], context).met for c in SUBSETS[subset].criteria if c.rule}
    return {name for name, value in found.items() if value}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (question(question="求 $x$"), set()),
        (question(page_numbers=[3, 4], paper_id="p"), {"across_pages"}),
        (question(page_numbers=[3], paper_id="p"), set()),
        (question(images=[picture()], question=f"如图所示。\n{FAR}\n<image>"), {"detached_figure"}),
        (question(images=[picture()], question=f"如图所示。{FAR}\n<image>"), set()),
        (question(images=[picture()], question=f"{FAR}如图所示。\n<image>"), set()),
        (question(images=[picture()], question="元素<image>的原子"), {"embedded_images"}),
        (question(images=[picture()], question="元素的原子\n<image>"), set()),
        (question(images=[picture()] * 4, choices=["<image>"] * 4), {"embedded_images", "several_figures"}),
        (question(images=[picture()] * 4), {"embedded_images", "several_figures"}),
        (question(images=[picture()] * 4, question_type="short_answer"), {"several_figures"}),
        (question(images=[picture()], question="由图1和图2可知\n<image>"), {"several_figures"}),
        (question(images=[picture()], question="其 v-t 图像为\n<image>"), {"graph_or_table"}),
        (question(images=[picture()], question="A graph of speed is shown.\n<image>"), {"graph_or_table"}),
        (question(question="| x | 1 |\n|---|---|\n| y | 2 |"), {"graph_or_table"}),
        (
            question(images=[picture()], question="<image>\n| x | 1 |\n|---|---|\n| y | 2 |"),
            {"graph_or_table", "several_figures"},
        ),
        (question(images=[picture()], choices=["1", "2", "3", "4\n<image>"]), set()),
        (question(question="<table><tr><td>1</td></tr><tr><td>2</td></tr></table>"), {"graph_or_table"}),
        (question(question="\\begin{tabular}{cc}\nx & 1 \\\\\ny & 2 \\\\\n\\end{tabular}"), {"graph_or_table"}),
        (question(question="函数图像关于 y 轴对称"), set()),
        (question(question="$$\\begin{pmatrix}\n1 & 2 \\\\\n3 & 4 \\\\\n\\end{pmatrix}$$"), set()),
    ],
)
def test_complex_layout(asked: Question, expected: set[str]) -> None:
    assert met("complex_layout", asked) == expected


STATEMENTS = ["加速度的方向始终向左侧", "动能先增大后减小再增大", "机械能在全过程中守恒", "合外力的功等于零焦耳"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (question(choices=STATEMENTS, question="下列说法正确的是"), {"guessable", "elimination"}),
        (question(choices=["1", "2", "3", "4"], question="下列说法正确的是"), {"guessable"}),
        (question(question_type="true_false"), {"guessable"}),
        (question(question_type="short_answer", question="求 x，并说明理由"), {"asks_for_reasons"}),
        (question(question_type="proof", question="已知 $a>b$"), {"asks_for_reasons"}),
        (question(choices=["①②", "②③", "①③", "②④"], question="说法正确的是①甲②乙③丙④丁"), {"guessable", "elimination"}),
        (question(knowledge_points=["动量", "能量"]), {"guessable", "several_concepts"}),
        (question(knowledge_points=["动量"]), {"guessable"}),
    ],
)
def test_rigorous_process(asked: Question, expected: set[str]) -> None:
    assert met("rigorous_process", asked) == expected


def test_premises_are_compared_among_choices_or_among_the_others() -> None:
    choices = [question(f"c{n}", question="已知甲。") for n in range(8)]
    free = [question(f"f{n}", question_type="short_answer", question="已知甲。" + "设乙为丙。" * 30) for n in range(8)]
    rich = question("rich", question="甲静止，乙运动，丙不计摩擦，丁质量相等，戊绝缘，所以")
    assert "many_premises" in met("rigorous_process", rich, [*choices, *free])
    assert "many_premises" not in met("rigorous_process", free[0], [*choices, *free[1:]])


def test_only_what_is_visual_has_a_complex_layout() -> None:
    assert not SUBSETS["complex_layout"].admits(candidate(question()))
    assert SUBSETS["complex_layout"].admits(candidate(VISUAL))


@pytest.mark.parametrize(
    ("subset", "asked", "state"),
    [
        ("complex_layout", question(images=[picture()], question="其 v-t 图像为\n<image>"), "out"),
        ("complex_layout", question(images=[picture()] * 3, question_type="short_answer"), "out"),
        ("complex_layout", question(images=[picture()], question="元素<image>的原子"), "proposed"),
        ("complex_layout", question(page_numbers=[3, 4], paper_id="p", images=[picture()]), "proposed"),
        ("korean_specific", question(language="ko", question="서울에서 부는 바람의 속력을 구하시오."), "out"),
        ("korean_specific", question(language="ko", question="국회와 대법원의 권한으로 옳은 것은?"), "proposed"),
        ("korean_specific", question(language="ko", question="한국의 명절로 옳은 것은?"), "proposed"),
        ("korean_specific", question(language="ko", question="의료법 시행규칙 상 환자의 권리는?"), "proposed"),
        ("korean_specific", question(language="ko", question="맞춤법에 맞는 것은?"), "proposed"),
    ],
)
def test_a_faint_sign_alone_is_no_proposal_unless_an_annotator_sees_more(
    subset: str, asked: Question, state: str
) -> None:
    item = candidate(asked)
    context = CriteriaContext(Standing.of([item]))
    row = _judged(SUBSETS[subset], item, context, None, "")
    assert row.state == state and ("too little for a proposal" in row.shown["evidence"]) == (state == "out")
    seen = Annotation({SUBSETS[subset].criteria[0].name: True}, "so it is")
    assert _judged(SUBSETS[subset], item, context, seen, "m").state == "proposed"


def test_long_horizon_compares_within_paper_and_subject() -> None:
    easy = [question(f"e{n}", points=5, exam="p", solution="得 1") for n in range(8)]
    long = question(
        "long",
        question_type="open_ended",
        exam="p",
        points=12,
        question="已知 a，b。(1) 求 x；(2) 证明 y。",
        solution="因为 a，所以 b。∴ c，故 d，从而 e，因此 f。" * 5,
    )
    assert met("long_horizon", long, easy) >= {"many_aims", "high_points", "long_solution"}
    assert met("long_horizon", easy[0], [*easy[1:], long]) == set()
    assert "high_points" not in met("long_horizon", long, easy[:1]), "two questions are no comparison"


def test_what_is_not_stated_is_unknown_and_not_unmet() -> None:
    items = [candidate(question())]
    context = CriteriaContext(Standing.of(items))
    unknown = {c.name for c in SUBSETS["rigorous_process"].criteria if c.rule and c.rule(items[0], context).met is None}
    assert unknown >= {"several_concepts", "lucky_in_runs", "long_derivation"}
    row = _judged(SUBSETS["rigorous_process"], items[0], context, None, "")
    assert "several_concepts" in row.shown["unknown"].split("; ")


@given(st.text(alphabet="图1（）<image>$\\|&\n，如①_ a。", max_size=300))
def test_any_text_is_measured(text: str) -> None:
    features = measure(question(question=text))
    assert all(value is None or value >= 0 for value in features.values())


def test_long_hostile_texts_are_measured_in_linear_time() -> None:
    for piece in ("$", "\\(", "<image>图", "|\n", "（1）", "①", "&", "「", "which of the following "):
        with within(5):
            measure(question(question=piece * 8_000))
            criteria.korean_words("law", (piece * 8_000)[:8_000])


def test_the_text_hash_passes_over_marks_and_white_space_only() -> None:
    asked = question(question="如图 <image>\n求 x", images=[picture()], choices=["1", "2"])
    blind = asked.model_copy(update={"question": "如图 求x", "images": []})
    assert text_sha256(asked) == text_sha256(blind)
    assert text_sha256(asked) != text_sha256(asked.model_copy(update={"question": "如图 求 y"}))
    assert text_sha256(asked) != text_sha256(asked.model_copy(update={"options": asked.options[:1]}))


@pytest.mark.parametrize(
    ("text", "categories"),
    [
        ("다음은 「산지관리법」에 따른 토석채취 허가 기준이다.", {"law"}),
        ("건축법 시행령 제5조에 따라", {"law"}),
        ("조선 세종대왕이 창제한 훈민정음", {"history", "language"}),
        ("국회의원의 임기는?", {"institutions"}),
        ("추석에 먹는 송편", {"culture"}),
        ("공인중개사법령상 휴업 등에 관한 설명으로 옳은 것은?", {"law"}),
        ("법인의 이사에 관한 설명으로 옳은 것은? (다툼이 있으면 판례에 따름)", {"law"}),
        ("들 한복판에 있는 굴뚝과 이론상 가능한 방법상 문제", set()),
        ("제주도의 화산 지형", {"geography"}),
        ("마찰을 고려하여 대전된 입자의 이동해 간 거리를 구하시오.", set()),
        ("부산물과 이황화탄소, 금강석의 결합을 비교하고 차례로 나열하시오.", set()),
        ("점화식이 발산해 출발해 가야 한다. 조선소의 용접 방법", set()),
        ("다익스트라 알고리즘으로 최단 경로를 구하는 방법은?", set()),
    ],
)
def test_words_for_korea(text: str, categories: set[str]) -> None:
    assert {category for category in criteria.KOREAN_WORDS if criteria.korean_words(category, text)} == categories


def test_proposals_agree_with_labels_written_before_the_rule_was_looked_at(shared_data: Path) -> None:
    """CLIcK rows without the sentence that names their group; docs/measured.md has the whole measurement."""
    labels = json.loads((Path(__file__).parent / "korean_labels.json").read_text(encoding="utf-8"))
    rows = {
        f"{file.stem}/{row['id']}": row
        for file in (shared_data / "click_korean/Dataset").rglob("*.json")
        for row in json.loads(file.read_text())
    }
    proposed = set()
    for id, row in rows.items():
        if id in labels["specific"] + labels["general"]:
            text = re.sub(r"^다음은 한국.*?문제이다\.", "", f"{row.get('paragraph') or ''} {row['question']}".strip())
            item = candidate(question(language="ko", question=text, choices=[str(choice) for choice in row["choices"]]))
            context = CriteriaContext(Standing.of([item]))
            if _judged(SUBSETS["korean_specific"], item, context, None, "").state == "proposed":
                proposed.add(id)
    right = len(proposed.intersection(labels["specific"]))
    assert right / len(proposed) >= 0.9 and right / len(labels["specific"]) >= 0.55


# --- mini ---


def items(count: int, points: int, rated: str = "eeemmh") -> list[Item]:
    names = {"e": "easy", "m": "medium", "h": "hard", "-": None}
    draw = random.Random(7)
    return [
        Item(
            f"q{n}",
            names[rated[n % len(rated)]],
            frozenset(f"k{draw.randrange(points)}" for _ in range(draw.randrange(1, 4))),
        )
        for n in range(count)
    ]


def sizes(drawn: Sample, all_items: list[Item]) -> dict[str | None, int]:
    found: dict[str | None, int] = {}
    for item in all_items:
        if item.id in drawn.picked:
            found[item.difficulty] = found.get(item.difficulty, 0) + 1
    return found


def test_mini_is_as_large_in_each_difficulty_and_covers_every_point() -> None:
    pool = items(3000, 60)
    drawn = sample(pool, 0.1, 0)
    assert sizes(drawn, pool) == {"easy": 100, "medium": 100, "hard": 100}
    assert not drawn.notes
    covered = set().union(*(item.points for item in pool if item.id in drawn.picked))
    assert covered == set().union(*(item.points for item in pool))


def test_mini_depends_on_the_seed_and_not_on_the_order() -> None:
    pool = items(600, 20)
    shuffled = random.Random(1).sample(pool, len(pool))
    assert sample(pool, 0.1, 0).picked == sample(shuffled, 0.1, 0).picked
    assert sample(pool, 0.1, 0).picked.keys() != sample(pool, 0.1, 1).picked.keys()


def test_mini_says_when_covering_forces_a_difficulty_above_its_share() -> None:
    pool = [Item(f"h{n}", "hard", frozenset({f"k{n}"})) for n in range(30)]
    pool += [Item(f"{d}{n}", d, frozenset({"k0"})) for d in ("easy", "medium") for n in range(30)]
    drawn = sample(pool, 0.1, 0)
    assert sizes(drawn, pool)["hard"] >= 29
    assert {sizes(drawn, pool)[name] for name in ("easy", "medium")} == {3}
    assert any(note.startswith("hard: ") and "above its share of 3" in note for note in drawn.notes)


def test_mini_fills_up_where_a_difficulty_is_short_and_says_so() -> None:
    pool = [Item(f"{d}{n}", d, frozenset()) for d, k in (("easy", 2), ("medium", 60), ("hard", 58)) for n in range(k)]
    drawn = sample(pool, 0.25, 0)
    assert sizes(drawn, pool) == {"easy": 2, "medium": 14, "hard": 14}
    assert any(note.startswith("easy: only 2 questions, below an equal share of 10") for note in drawn.notes)


def test_mini_takes_an_unrated_question_only_for_a_point_nothing_else_has() -> None:
    pool = [
        *items(300, 10),
        Item("bare", None, frozenset({"k1"})),
        Item("only", None, frozenset({"rare"})),
    ]
    drawn = sample(pool, 0.2, 0)
    assert "only" in drawn.picked
    assert "bare" not in drawn.picked
    assert any("without a difficulty" in note for note in drawn.notes)


# --- the sheet ---


def row(id: str = "q1", **fields: object) -> sheet.SheetRow:
    given: dict[str, object] = {"subset": "long_horizon", "state": "proposed", "id": id, "text_sha256": "t"}
    return sheet.SheetRow(**given | fields)  # type: ignore[arg-type]


def review(decision: str = "accept", by: str = "Kim", at: str = "2026-11-22", reason: str = "") -> dict[str, str]:
    return {"decision": decision, "by": by, "at": at, "reason": reason}


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


@settings(max_examples=60)
@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=4))
def test_a_sheet_reads_back_what_was_written_and_no_cell_starts_a_formula(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[str, str, str]]
) -> None:
    file = tmp_path_factory.mktemp("s") / "sheet.csv"
    rows = [
        row(id, text_sha256=str(n), review=review(reason=reason), shown={"question": shown}, extra={"note": reason})
        for n, (id, reason, shown) in enumerate(cells)
    ]
    sheet.write(file, rows)
    read = sheet.read(file)
    assert [(r.id, r.review, r.extra) for r in read] == [(r.id, r.review, r.extra) for r in rows]
    with file.open(encoding="utf-8-sig", newline="") as stream:
        for line in csv.reader(stream):
            assert not any(cell[:1] in "=+-@＝＋－＠\t\r\n" for cell in line if cell)


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "a;=1", "a,\t=1", "a\n=cmd", "＝1"])
def test_hostile_question_texts_are_no_formulas_under_any_separator(tmp_path: Path, text: str) -> None:
    sheet.write(tmp_path / "s.csv", [row(shown={"question": text, "evidence": text})])
    raw = (tmp_path / "s.csv").read_text(encoding="utf-8-sig")
    for separator in ",;\t\n":
        assert not any(cell.lstrip('"')[:1] in "=+@＝" for cell in raw.split(separator) if cell.lstrip('"'))


@pytest.mark.parametrize(("separator", "bom"), [(",", ""), (";", "\ufeff"), ("\t", "")])
def test_a_sheet_saved_by_a_spreadsheet_is_read(tmp_path: Path, separator: str, bom: str) -> None:
    names = ["subset", "id", "text_sha256", "decision", "by", "at", "reason"]
    cells = ["long_horizon", "q1", "t", "ACCEPT", "김", "2026. 11. 22.", "좋음"]
    (tmp_path / "s.csv").write_text(bom + separator.join(names) + "\r\n" + separator.join(cells) + "\r\n", "utf-8")
    (read,) = sheet.read(tmp_path / "s.csv")
    assert read.verdict == (True, "")
    assert read.review["by"] == "김"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff\xfe\x00", "is not UTF-8"),
        (b"a,b\n1,2\n", "column subset is missing"),
        (b"", "column subset is missing"),
        (b'subset,id,text_sha256,decision,by,at,reason\n"x', "damaged CSV"),
        (b"subset,id,text_sha256,decision,by,at,reason\n1,2,3,4,5,6,7,8\n", "more cells than columns"),
    ],
)
def test_what_is_no_sheet_is_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(UserError, match=says) as error:
        sheet.read(tmp_path / "s.csv")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "at", ["2026-11-22", "2026/1/2", "2026-11-22T10:00:00+09:00", "2026. 11. 22.", "2026-11-22 10:00"]
)
def test_dates_that_count(at: str) -> None:
    assert sheet.is_date(at)


@pytest.mark.parametrize("at", ["", "11/22/2026", "22.11.2026", "yesterday", "2026-13-01", "2026-02-30", "45983"])
def test_dates_that_do_not(at: str) -> None:
    assert not sheet.is_date(at)


def test_merging_never_loses_a_review() -> None:
    new = [row("kept"), row("changed", text_sha256="new"), row("fresh")]
    old = [
        row("kept", state="reserve", review=review("reject", reason="too easy"), extra={"note": "!"}),
        row("changed", text_sha256="old", review=review()),
        row("gone", review=review(decision="", by="", at="", reason="look again")),
        row("never looked at"),
        row("kept", state="reserve", review=review("accept", by="Lee")),
    ]
    merged = sheet.merged(new, old)
    assert [(r.id, r.state, r.review.get("decision")) for r in merged] == [
        ("kept", "proposed", "reject"),
        ("kept", "reserve", "accept"),
        ("changed", "proposed", None),
        ("fresh", "proposed", None),
        ("changed", "kept", "accept"),
        ("gone", "kept", ""),
    ]
    assert merged[0].extra == {"note": "!"}
    assert sheet.merged(new, merged) == merged


def test_a_reserve_moves_up_for_each_rejected_member(tmp_path: Path) -> None:
    rows = [row(f"q{n}", score=1 - n / 10, subject="math") for n in range(5)]
    wanted = Wanted("long_horizon", tmp_path, per_subject=2)

    def states(old: list[sheet.SheetRow]) -> dict[str, str]:
        return {r.id: r.state for r in _ranked(SUBSETS["long_horizon"], rows, old, wanted)}

    assert states([]) == {"q0": "proposed", "q1": "proposed", "q2": "reserve", "q3": "reserve", "q4": "reserve"}
    after = states([row("q0", review=review("reject")), row("q4", review=review("accept"))])
    out = [row("q0", state="out", subject="math"), *rows[1:]]
    states_of = {r.id: r.state for r in _ranked(SUBSETS["long_horizon"], out, [row("q0", review=review())], wanted)}
    assert states_of["q0"] == "kept"
    assert [id for id, state in states_of.items() if state == "proposed"] == ["q1"]
    assert after == {"q0": "proposed", "q1": "proposed", "q2": "reserve", "q3": "reserve", "q4": "proposed"}


# --- taking reviewed members in ---


def taken(
    tmp_path: Path, rows: list[sheet.SheetRow], *records: Page | Question
) -> tuple[list[Page | Question], list[str]]:
    sheet.write(tmp_path / "s.csv", rows)
    log = Log()
    return list(sheet.apply(iter(records), [tmp_path / "s.csv"], log)), log.notes


def test_reviewers_who_differ_accept_nothing(tmp_path: Path) -> None:
    asked = [question("q0"), question("q1"), question("q2")]
    kim, lee = ([row(q.id, text_sha256=text_sha256(q), review=review()) for q in asked] for _ in range(2))
    lee[0] = row("q0", text_sha256=kim[0].text_sha256, review=review("reject"))
    files = [tmp_path / "kim.csv", tmp_path / "lee.csv"]
    for file, rows in zip(files, (kim, lee[:2]), strict=True):
        sheet.write(file, rows)
    log = Log()
    marked = [r.subsets for r in sheet.apply(iter(asked), files, log) if isinstance(r, Question)]
    assert marked == [[], ["long_horizon"], ["long_horizon"]]
    assert log.notes == ["kim.csv:2 (q0): does not count: both accepted and rejected for long_horizon (see lee.csv:2)"]


def test_only_what_a_reviewer_accepted_counts(tmp_path: Path) -> None:
    asked = [question(f"q{n}", subsets=["complex_layout"]) for n in range(6)]
    hashes = [text_sha256(q) for q in asked]
    page = Page(paper_id="p", page_number=1, image=picture())
    rows = [
        row("q0", text_sha256=hashes[0], review=review()),
        row("q1", text_sha256=hashes[1], review=review("reject")),
        row("q2", text_sha256=hashes[2]),
        row("q3", text_sha256=hashes[3], review=review(by="")),
        row("q4", text_sha256=hashes[4], review=review(at="11/22/2026")),
        row("q5", text_sha256="another", review=review()),
        row("nobody", review=review()),
        row("q1", subset="nonsense", text_sha256=hashes[1], review=review()),
    ]
    records, notes = taken(tmp_path, rows, page, *asked)
    assert records[0] == page
    assert [r.subsets for r in records[1:]] == [["complex_layout", "long_horizon"], *[["complex_layout"]] * 5]  # type: ignore[union-attr]
    assert records[1] == asked[0].model_copy(update={"subsets": ["complex_layout", "long_horizon"]})
    assert notes.pop(3) == (
        "waiting for a person: 1 proposal (1 long_horizon); `decision`, `by` and `at` in the sheet bring it in"
    )
    assert len(notes) == 5
    for line, says in zip(
        sorted(notes),
        [
            "s.csv:5 (q3): does not count: accept without a name in `by`",
            "s.csv:6 (q4): does not count: accept with `at` '11/22/2026', which is no YYYY-MM-DD date",
            "s.csv:7 (q5): accepted for long_horizon with another text: review it again",
            "s.csv:8 (nobody): accepted for long_horizon, and no question of this data set",
            "s.csv:9 (q1): does not count: there is no subset 'nonsense'",
        ],
        strict=True,
    ):
        assert line == says


def test_what_runs_or_a_draw_decide_is_taken_as_proposed(tmp_path: Path) -> None:
    asked = [question(f"q{n}", benchmark="kmmmu", language="ko") for n in range(6)]
    made = {"made_by": "rules 2, runs a (gemma)"}
    rows = [
        row("q0", subset="hard", text_sha256=text_sha256(asked[0]), shown=made),
        row("q1", subset="hard", text_sha256=text_sha256(asked[1]), review=review("reject")),
        row("q2", subset="hard", text_sha256=text_sha256(asked[2]), state="undecided"),
        row("q3", subset="hard", text_sha256=text_sha256(asked[3]), review=review("reject", by="")),
        row("q4", subset="hard", text_sha256="another"),
        row("q5", subset="hard", text_sha256=text_sha256(asked[5]), state="undecided", review=review()),
    ]
    sheet.write(tmp_path / "s.csv", rows)
    log, members = Log(), list[MemberRow]()
    found = list(sheet.apply(iter(asked), [tmp_path / "s.csv"], log, members))
    assert [q.id for q in found if isinstance(q, Question) and q.subsets == ["hard"]] == ["q0", "q5"]
    assert members == [
        MemberRow("hard", "kmmmu", "q0", "proposed", "", "", "rules 2, runs a (gemma)"),
        MemberRow("hard", "kmmmu", "q5", "reviewed", "Kim", "2026-11-22", ""),
    ]
    assert log.notes == [
        "s.csv:5 (q3): does not count: reject without a name in `by`",
        "s.csv:6 (q4): proposed for hard with another text: propose it again",
    ]
    write_members(tmp_path, members)
    assert members_of(read_members(tmp_path), {("kmmmu", "q5")}) == members[1:]


@pytest.mark.parametrize("kind", ["short_answer", "open_ended", "proof", "fill_in_blank"])
def test_what_cannot_be_guessed_has_no_lucky_guess(kind: str) -> None:
    assert not SUBSETS["rigorous_process"].admits(candidate(question(question_type=kind)))
    assert SUBSETS["rigorous_process"].admits(candidate(question(choices=["1", "2"])))


def test_contradictory_decisions_count_for_nothing(tmp_path: Path) -> None:
    asked = question()
    rows = [row(text_sha256=text_sha256(asked), review=review(decision)) for decision in ("accept", "reject")]
    records, notes = taken(tmp_path, rows, asked)
    assert records == [asked]
    assert len(notes) == 1
    assert "both accepted and rejected" in notes[0]


def test_korean_specific_sets_the_flag_and_nothing_else(tmp_path: Path) -> None:
    asked = question(benchmark="kmmmu", language="ko")
    rows = [row(subset="korean_specific", text_sha256=text_sha256(asked), review=review())]
    records, notes = taken(tmp_path, rows, asked)
    assert records == [asked.model_copy(update={"flags": Flags(is_korean_specific=True)})]
    assert not notes


def test_a_subset_of_another_benchmark_takes_nothing(tmp_path: Path) -> None:
    asked = question(benchmark="cfe", language="en")
    records, notes = taken(tmp_path, [row(subset="hard", text_sha256=text_sha256(asked), review=review())], asked)
    assert records == [asked]
    assert notes == ["s.csv:2 (q1): hard takes no cfe questions"]


def test_a_member_of_several_subsets_and_of_upstream_is_named_once(tmp_path: Path) -> None:
    asked = question(subsets=["long_horizon"])
    rows = [
        row(subset=name, text_sha256=text_sha256(asked), review=review()) for name in ("long_horizon", "complex_layout")
    ]
    records, _ = taken(tmp_path, rows, asked)
    assert records == [asked.model_copy(update={"subsets": ["long_horizon", "complex_layout"]})]


# --- two reviewers ---


def test_agreement_of_two_reviewers() -> None:
    def sheet_of(decisions: str) -> list[sheet.SheetRow]:
        words = {"a": "accept", "r": "reject", "-": ""}
        return [row(f"q{n}", review=review(words[d])) for n, d in enumerate(decisions)]

    (pair,) = sheet.agreement(sheet_of("aaaaarrrrr-a"), sheet_of("aaaararrrra-"))
    assert (pair.both, pair.agreed, pair.accepted, pair.only_one) == (10, 8, 4, 2)
    assert pair.kappa == pytest.approx(0.6)
    assert pair.disputed == ["q4", "q5"]
    (alike,) = sheet.agreement(sheet_of("aa"), sheet_of("aa"))
    assert alike.kappa is None, "no spread to correct for chance with"


def test_unknown_subset() -> None:
    with pytest.raises(UserError, match="no subset 'long_reason'"):
        subset_named("long_reason")
