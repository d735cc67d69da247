"""Near-duplicates: what counts as the same question again, what as a variant, and what as neither."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from livek12.core.records import Image, Language, Option, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import cfe, livek12
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.duplicates import finding
from livek12.dataset_builders.duplicates.finding import CROWD, THRESHOLD, DuplicateIndex
from livek12.dataset_builders.duplicates.library import shingles, stem
from tests.dataset_builders.pictures import picture

COMPARE = finding.compare
EN = "A uniform rod of length 2 m and mass 3 kg is hinged at one end and released from rest. Find its angular speed."
ZH = "已知椭圆C的离心率为1/2,过右焦点F且斜率为1的直线与C交于A,B两点,求三角形OAB面积的最大值."
KO = "다음 그림과 같이 반지름이 3인 원에 내접하는 삼각형 ABC에서 선분 BC의 길이를 구하고 그 풀이 과정을 쓰시오."
CHOICE = "下列关于细胞呼吸的叙述,正确的是"
OPTIONS = [
    "有氧呼吸只在线粒体中进行",
    "无氧呼吸不产生二氧化碳",
    "葡萄糖分解释放的能量大部分以热能散失",
    "呼吸作用都需要氧气",
]


def question(text: str, id: str = "a", language: Language = "zh", **fields: Any) -> Question:
    return Question(
        id=id,
        benchmark="livek12",
        language=language,
        subject="math",
        question_type="short_answer",
        question=text,
        **fields,
    )


def options(*texts: str) -> list[Option]:
    return [Option(label=label, text=text) for label, text in zip("ABCDE", texts, strict=False)]


def difference(one: Question, other: Question) -> str | None:
    """None where the questions are not near each other; "" for duplicates."""
    matches = DuplicateIndex([stem(other)]).matches(stem(one.model_copy(update={"id": "new"})))
    return matches[0].difference if matches else None


@pytest.mark.parametrize(
    ("language", "text", "again"),
    [
        ("en", EN, EN),
        ("en", EN, f"17. (12 points) {EN}"),
        ("en", EN, EN.upper().replace(" ", "  ")),
        ("en", EN, EN.replace("2 m", "$2\\,\\mathrm{m}$").replace("3 kg", "$3$ kg")),
        ("en", EN, EN.replace("Find", "Determine")),
        ("zh", ZH, "21．（2019·全国卷Ⅱ）" + ZH.replace(",", "，").replace("C的", "$C$ 的")),
        ("zh", ZH, ZH.replace("求三角形", "求△")),
        ("ko", KO, "[3점] " + KO.replace(" ", "")),
    ],
)
def test_the_same_question_again(language: Language, text: str, again: str) -> None:
    assert difference(question(again, language=language), question(text, language=language)) == ""
    assert difference(question(text, language=language), question(again, language=language)) == ""


@pytest.mark.parametrize(
    ("language", "text", "variant"),
    [
        ("en", EN, EN.replace("2 m", "5 m")),
        ("en", EN, EN.replace("3 kg", "-3 kg")),
        ("zh", ZH, ZH.replace("斜率为1", "斜率为2")),
        ("zh", ZH, ZH.replace("斜率为1", "斜率为−1")),
        ("ko", KO, KO.replace("3", "12")),
    ],
)
def test_other_numbers_make_a_variant(language: Language, text: str, variant: str) -> None:
    assert difference(question(variant, language=language), question(text, language=language)) == "other numbers"


def test_another_question_on_the_same_passage_is_a_variant() -> None:
    draw = random.Random(1)
    passage = "".join(chr(draw.randrange(0xAC00, 0xD7A4)) for _ in range(800))
    first, second = "위 글의 제목으로 가장 적절한 것은?", "밑줄 친 부분이 뜻하는 바로 알맞은 것을 모두 고르면?"
    asked = [question(passage + ask * 2, language="ko") for ask in (first, second)]
    assert difference(*asked) == "asks something else"
    same = [
        question(passage, language="ko", options=options(*OPTIONS)),
        question(passage, language="ko", options=options("사랑", "우정과 신의", "자연의 순환", "없음")),
    ]
    assert difference(*same) == "asks something else"


def test_options_in_another_order_are_the_same_question() -> None:
    one = question(CHOICE, options=options(*OPTIONS), answer=["C"])
    other = question(CHOICE, options=options(*reversed(OPTIONS)), answer=["B"])
    assert difference(one, other) == ""


def test_another_right_option_makes_a_variant() -> None:
    one = question(CHOICE.replace("正确", "不正确"), options=options(*OPTIONS), answer=["A"])
    other = question(CHOICE, options=options(*OPTIONS), answer=["C"])
    assert difference(one, other) == "another option is right"
    # the same text has one key: where two releases differ in it, one of them is wrong
    assert difference(question(CHOICE, options=options(*OPTIONS), answer=["A"]), other) == ""


def test_figures_tell_short_questions_apart() -> None:
    def shown(turns: int, kind: str = "PNG") -> Question:
        data = io.BytesIO()
        with Pillow.open(io.BytesIO(picture(size=(200, 150)))) as drawn:
            drawn.rotate(90 * turns, expand=True).save(data, kind)
        return question("如图,求阴影部分的面积.", images=[Image(bytes=data.getvalue())])

    assert difference(shown(0), shown(1)) == "other figures"
    assert difference(shown(0), shown(0)) == ""
    assert difference(shown(0, "JPEG"), shown(0)) == "", "the same picture, encoded anew"
    broken = question("如图,求阴影部分的面积.", images=[Image(bytes=b"not a picture")])
    assert difference(broken, shown(0)) == "other figures"
    long = [question(ZH, images=[Image(bytes=picture(colour * 60))]) for colour in (0, 1)]
    assert difference(*long) == "", "a long text is the question whatever its figure was cut to"


def test_languages_are_not_compared() -> None:
    assert difference(question(ZH, language="en"), question(ZH, language="zh")) is None


def test_other_questions_are_not_near() -> None:
    assert (
        difference(question(EN, language="en"), question("Find the angular speed of the Moon.", language="en")) is None
    )
    assert difference(question(""), question(ZH)) is None
    assert difference(question("?"), question("!")) in (None, "")


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4), st.integers(1, 8))
def test_shingles_are_the_runs_of_each_text(texts: list[str], size: int) -> None:
    texts = [text.replace("\0", "").encode("utf-8", "ignore").decode() for text in texts]
    found = shingles(texts, size)
    ends = np.cumsum(found.lengths)
    assert len(found.values) == ends[-1]
    for text, end, length in zip(texts, ends, found.lengths, strict=True):
        runs = [run for n in range(max(1, len(text) - size + 1)) if (run := text[n : n + size])]
        own = found.values[end - length : end].tolist()
        assert len(own) == len(runs)
        assert len(dict(zip(runs, own, strict=True))) == len(set(own)), "equal runs, and only they, are equal numbers"
        assert all(own[runs.index(run)] == value for run, value in zip(runs, own, strict=True))


@given(st.lists(st.text("abcdefghij", min_size=1, max_size=20), min_size=1, max_size=4))
def test_no_shingle_crosses_a_break(pieces: list[str]) -> None:
    assert shingles(["\0".join(pieces)], 4).values.tolist() == shingles(pieces, 4).values.tolist()


def crowd(kind: str, size: int) -> list[Question]:
    """Near-identical questions, no two of which are duplicates but for what `kind` says, and all texts long."""
    draw = random.Random(7)
    passage = " ".join(draw.choice(["river", "stone", "light", "copper", "engine", "leaf"]) for _ in range(150))
    asks = [" ".join("".join(draw.choices("abcdefghijklmnop", k=6)) for _ in range(20)) for _ in range(size)]
    texts = {
        "numbers": [EN.replace("2 m", f"{n + 10} m") for n in range(size)],
        "asks": [f"{passage} What is meant by {ask}?" for ask in asks],
        "duplicates": [f"{passage}. Which {ask.split()[0]} is it?" for ask in asks],
    }
    return [question(text, id=f"q{n:04d}", language="en") for n, text in enumerate(texts[kind])]


@pytest.mark.parametrize("kind", ["numbers", "asks", "duplicates"])
def test_a_crowd_costs_no_more_than_its_first(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing one question takes a few comparisons, among 400 near-identical ones as among 100."""
    calls: list[int] = []

    def counted(stems: Any, one: Any, *others: Any, **options: Any) -> Any:
        calls.append(len(one))
        return COMPARE(stems, one, *others, **options)

    monkeypatch.setattr(finding, "compare", counted)
    compared = {}
    for size in (100, 400):
        questions = crowd(kind, size)
        index = DuplicateIndex(map(stem, questions))
        calls.clear()
        for q in questions[::20]:
            again = q.model_copy(update={"id": "again", "question": f"12. {q.question}"})
            best = index.matches(stem(again))[0]
            assert not best.difference
            assert kind == "duplicates" or best.other.id == q.id, "the duplicate stands out of the crowd"
        compared[size] = sum(calls) / len(questions[::20])
    assert max(compared.values()) < 2 * CROWD


def test_figures_are_found_in_a_crowd_of_texts_that_only_point_at_them() -> None:
    def shown(seed: int, kind: str = "PNG") -> Question:
        draw, data = random.Random(seed), io.BytesIO()
        drawn = Pillow.new("L", (9, 8))
        drawn.putdata([draw.randrange(256) for _ in range(72)])
        drawn.resize((180, 160), Pillow.Resampling.BICUBIC).save(data, kind)
        return question("如图,求阴影部分的面积.", id=f"q{seed}", images=[Image(bytes=data.getvalue())])

    index = DuplicateIndex(stem(shown(seed)) for seed in range(200))
    for seed in (0, 77, 199):
        again = shown(seed, "JPEG").model_copy(update={"id": "again"})
        found = [match for match in index.matches(stem(again)) if not match.difference]
        assert [match.other.id for match in found] == [f"q{seed}"]


def real(shared_data: Path, name: str) -> list[Question]:
    log = Log()
    builder = cfe.BUILDER if name == "cfe_bench" else livek12.BUILDER
    return [record for record in read(builder, shared_data / name, log) if isinstance(record, Question)]


def reworded(text: str, seed: int) -> str:
    """The text as another source would print it: renumbered, spaced otherwise, three characters in a hundred lost."""
    draw = random.Random(seed)
    kept = "".join(c for c in text if c.isdigit() or not c.isalpha() or draw.random() > 0.01)
    return f"{seed % 30 + 1}. " + kept.replace(",", " , ").replace("\\left", "").replace("$", " $ ")


@pytest.mark.parametrize("name", ["cfe_bench", "gaokao_mm"])
@pytest.mark.release
def test_real_questions_are_found_again_and_nothing_else(shared_data: Path, name: str) -> None:
    questions = [q for q in real(shared_data, name) if len(stem(q).text) > 60]
    index = DuplicateIndex(stem(q) for q in questions)
    found = wrong = 0
    for number, q in enumerate(questions):
        again = q.model_copy(update={"id": "again", "question": reworded(q.question, number)})
        matches = [match for match in index.matches(stem(again)) if not match.difference]
        found += q.id in {match.other.id for match in matches}
        twins = {match.other.id for match in index.matches(stem(q))} | {q.id}
        wrong += bool({match.other.id for match in matches} - twins)
    assert found >= 0.95 * len(questions)
    assert wrong == 0


@pytest.mark.release
def test_real_exams_hold_few_false_alarms(shared_data: Path) -> None:
    """342 questions of 14 years: none repeats another, and near-duplicates are above the threshold only."""
    stems = [stem(q) for q in real(shared_data, "gaokao_mm")]
    index = DuplicateIndex(stems)
    assert [match for entry in stems for match in index.matches(entry)] == []
    stems = [stem(q) for q in real(shared_data, "cfe_bench")]
    index = DuplicateIndex(stems)
    pairs = {
        tuple(sorted((entry.id, match.other.id)))
        for entry in stems
        for match in index.matches(entry)
        if not match.difference and match.similarity >= THRESHOLD
    }
    same_id = {pair for pair in pairs if pair[1] == f"{pair[0]}-2"}
    assert len(same_id) == 5, "the five ids that upstream gives twice are five questions that are there twice"
    assert len(pairs) == 8
