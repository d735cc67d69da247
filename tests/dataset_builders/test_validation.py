"""Data sets with something wrong: one clear line each."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from livek12.core.errors import UserError
from livek12.core.features import schema
from livek12.core.records import Question
from livek12.dataset_builders import validate
from livek12.dataset_builders.reading.soundness import problems
from livek12.dataset_builders.writing.card import rewrite_metadata
from tests.dataset_builders.pictures import BAD

FILE = "text_image/zh_sample-00000-of-00001.parquet"
Rows = list[dict[str, Any]]
A, B = {"label": "A", "text": "1 <image>"}, {"label": "B", "text": "2"}
BARE = {"id": "q", "benchmark": "livek12", "language": "zh", "subject": "math", "question": "?"}
CHOICE: dict[str, Any] = {
    **{"question_type": "single_choice", "question": "?", "options": [A, B], "answer": ["A"]},
    **{"part_points": [], "part_units": []},
}


@pytest.fixture(scope="module")
def few(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Chinese questions of the sample with figures: whatever is wrong with a row, the others are checked too."""
    folder = Path(shutil.copytree(built, tmp_path_factory.mktemp("few") / "data"))
    for file in folder.rglob("*.parquet"):
        if file.relative_to(folder).as_posix() != FILE:
            file.unlink()
    rewrite_metadata(folder)
    assert validate(folder) == []
    return folder


@pytest.fixture
def a_few(few: Path, tmp_path: Path) -> Path:
    """A copy that the test may change."""
    return Path(shutil.copytree(few, tmp_path / "data"))


def rewrite(file: Path, change: Callable[[Rows], object], columns: pa.Schema | None = None) -> None:
    rows = pq.read_table(file).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=columns or pq.read_schema(file)), file)


def test_a_sound_data_set(copied: Path) -> None:
    assert validate(copied) == []


@pytest.mark.parametrize("name", BAD)
def test_bad_pictures(a_few: Path, name: str) -> None:
    data, said = BAD[name]
    rewrite(a_few / FILE, lambda rows: rows[1]["images"][0].update(bytes=data))
    (problem,) = validate(a_few)
    id = pq.read_table(a_few / FILE, columns=["id"])["id"][1].as_py()
    assert problem.startswith(f"{FILE} row 2 ({id}): image ")
    assert said in problem


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[0].update(question=rows[0]["question"] + " <image>"), "image marks for"),
        (lambda rows: rows[0].update(question_type="essay"), "question_type: Input should be"),
        (lambda rows: rows[0].update(question=None), "question: Field required"),
        (lambda rows: rows[0]["images"][0].update(bytes=None), "has no bytes"),
        (lambda rows: rows[0].update(part_points=[1.0, 2.0, 3.0]), "part_points has 3 entries for"),
        (lambda rows: rows[0].update(part_units=["m", "s", "kg"]), "part_units has 3 entries for"),
        (lambda rows: rows[0].update(CHOICE | {"options": [A, B, {**B, "label": "A"}]}), "2 options are labelled 'A'"),
        (lambda rows: rows[0].update(id=" "), "it has no id"),
        (lambda rows: rows[0].update(points=-1.0), "is not a number of points"),
        (lambda rows: rows[0].update(points=float("nan")), "is not a number of points"),
        (lambda rows: rows[0].update(part_points=[float("inf")] * len(rows[0]["answer"])), "is not a number of points"),
        (lambda rows: rows[0].update(CHOICE | {"answer": ["C"]}), "answer 'C' names no option"),
        (lambda rows: rows[0].update(CHOICE | {"answer": ["AC"]}), "answer 'AC' names no option"),
    ],
)
def test_bad_rows(a_few: Path, change: Callable[[Rows], object], said: str) -> None:
    rewrite(a_few / FILE, change)
    (problem,) = validate(a_few)
    assert problem.startswith(f"{FILE} row 1 (")
    assert said in problem


@pytest.mark.parametrize(
    ("labels", "answer"),
    [("ABCD", "ACD"), ("ABCD", "the second"), ("12345", "135"), ("12345", "①"), ("ㄱㄴㄷ", "ㄹ"), ("", "E")],
)
def test_answers_that_name_options_or_do_not_try_to(copied: Path, labels: str, answer: str) -> None:
    options = [{"label": label, "text": label} for label in labels]
    asked = Question.model_validate({**BARE, **CHOICE, "options": options, "answer": [answer]})
    assert list(problems(asked, image_only=False)) == []


def test_a_text_that_is_not_utf8(copied: Path) -> None:
    table = pq.read_table(copied / FILE)
    id = table["id"][2].as_py()
    bad = [text.encode() for text in table["solution"].combine_chunks().fill_null("").to_pylist()]
    bad[2] = b"\xff\xfe"
    column = pa.array(bad, pa.binary()).view(pa.string())
    place = table.schema.get_field_index("solution")
    pq.write_table(table.set_column(place, table.schema.field(place), column), copied / FILE)
    assert validate(copied) == [f"{FILE} row 3 ({id}): solution: not valid UTF-8"]


def test_rows_in_the_wrong_split(copied: Path) -> None:
    rewrite(copied / FILE, lambda rows: [row.update(release="2603") for row in rows])
    id = pq.read_table(copied / FILE, columns=["id"])["id"][0].as_py()
    assert validate(copied) == [
        f"{FILE}: 10 rows are not of split zh_sample; the first: row 1 ({id}) belongs in zh_2603"
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("README.md", "42", "43", "README.md: edited by hand"),
        ("README.md", "- split: ", "- split:  ", "README.md: edited by hand"),
        ("croissant.json", "zh_sample", "zh_2603", "croissant.json: edited by hand"),
        ("statistics.json", '"questions": 63', '"questions": 64', "statistics.json: all.questions is 64, the data has"),
    ],
)
def test_counts_that_are_not_those_of_the_data(copied: Path, name: str, old: str, new: str, said: str) -> None:
    text = (copied / name).read_text()
    assert old in text
    (copied / name).write_text(text.replace(old, new, 1))
    assert any(problem.startswith(said) for problem in validate(copied))


def test_a_question_taken_out_by_hand(copied: Path) -> None:
    rewrite(copied / "text_only" / "zh_sample-00000-of-00001.parquet", lambda rows: rows.pop())
    problems = validate(copied)
    assert "statistics.json: configs.text_only.splits.zh_sample is 11, the data has 10" in problems


def test_rows_of_one_question_that_differ(copied: Path) -> None:
    """Its figures apart, a question says the same in each of its tables."""
    name = "image_only/zh_sample-00000-of-00001.parquet"
    rewrite(copied / name, lambda rows: rows[0].update(solution="by hand"))
    id = pq.read_table(copied / name, columns=["id"])["id"][0].as_py()
    (problem,) = validate(copied)
    assert problem.startswith(f"{name} row 1 ({id}): it says something else in text_")


def test_figures_in_image_only(copied: Path) -> None:
    name = "image_only/zh_sample-00000-of-00001.parquet"
    figure = pq.read_table(copied / FILE, columns=["images"])["images"][0].as_py()
    rewrite(copied / name, lambda rows: rows[0].update(images=figure))
    (problem,) = validate(copied)
    assert problem.startswith(f"{name} row 1 (")
    assert "images, which its pages show" in problem


def test_one_id_twice(copied: Path) -> None:
    rewrite(copied / FILE, lambda rows: rows[1].update(id=rows[0]["id"]))
    id = pq.read_table(copied / FILE, columns=["id"])["id"][0].as_py()
    assert validate(copied) == [f"config {config}: id {id} is there 2 times" for config in ("default", "text_image")]


def test_a_page_that_is_not_there(copied: Path) -> None:
    file = copied / "image_only" / "zh_sample-00000-of-00001.parquet"
    rewrite(file, lambda rows: rows[0].update(page_numbers=[99]))
    rewrite(file, lambda rows: rows[1].update(page_numbers=[]))
    first, second = validate(copied)
    assert "no image of page sample_zh 99: it cannot be asked" in first
    assert "no image of page (none named): it cannot be asked" in second


@pytest.mark.parametrize("number", [None, "", " "])
def test_a_question_without_a_number_on_its_page(copied: Path, number: str | None) -> None:
    name = "image_only/zh_sample-00000-of-00001.parquet"
    rewrite(copied / name, lambda rows: rows[1].update(number=number))
    (problem,) = validate(copied)
    assert problem.startswith(f"{name} row 2 (")
    assert problem.endswith("no number to find it by on its page: it cannot be asked from config pages")


def test_a_page_twice(copied: Path) -> None:
    rewrite(copied / "pages" / "zh_sample-00000-of-00001.parquet", lambda rows: rows.append(rows[0]))
    assert validate(copied) == ["config pages: page 1 of sample_zh is there 2 times"]


def test_a_truncated_file_costs_a_line_and_the_rest_is_checked(copied: Path) -> None:
    (copied / FILE).write_bytes((copied / FILE).read_bytes()[:-30])
    other = copied / "text_only" / "zh_sample-00000-of-00001.parquet"
    rewrite(other, lambda rows: rows[0].update(question_type="essay"))
    problems = validate(copied)
    assert len(problems) == 2
    assert any(FILE in problem and "damaged or not Parquet" in problem for problem in problems)


def test_a_missing_and_a_foreign_file(copied: Path) -> None:
    (copied / FILE).rename(copied / "text_image" / "ko_sample-00000-of-00001.parquet")
    assert validate(copied) == [
        "README.md: config default, split zh_sample: no file matches text_image/zh_sample-*.parquet",
        "README.md: config text_image, split zh_sample: no file matches text_image/zh_sample-*.parquet",
        "text_image/ko_sample-00000-of-00001.parquet: in no config of README.md",
    ]


def test_columns_that_differ(copied: Path) -> None:
    columns = schema(Question)
    without = columns.remove(columns.get_field_index("review"))
    odd = without.set(without.get_field_index("points"), pa.field("points", pa.string()))
    rewrite(copied / FILE, lambda rows: [row.update(points=None) for row in rows], odd.remove_metadata())
    assert validate(copied) == [
        f"{FILE}: column points is string, not double",
        f"{FILE}: has no column review",
        f"{FILE}: says nothing of its features: `datasets` would not know images for images",
    ]


def test_a_card_edited_by_hand(copied: Path) -> None:
    card = copied / "README.md"
    text = card.read_text()
    card.write_text(text.replace('split: "zh_sample"', 'split: "zh sample"', 1))
    assert validate(copied) == ["README.md: config default: 'zh sample' is no name for a split"]
    for broken in (text.replace("configs:", "configs: ]["), text.replace("config_name", "name"), "no front matter"):
        card.write_text(broken)
        with pytest.raises(UserError, match="names no readable configs"):
            validate(copied)
    card.write_text(text.replace("text_only/zh_sample-", "../zh_sample-"))
    with pytest.raises(UserError, match="outside the data set"):
        validate(copied)


def test_not_a_data_set(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no README"):
        validate(tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        validate(tmp_path / "none")


def test_a_table_whose_name_is_no_utf_8_costs_a_line(tmp_path: Path) -> None:
    from livek12.dataset_builders import validate as check

    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "\udcff").write_bytes(b"")
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: text_only\n  data_files:\n  - split: en\n    path: t/*\n---\n"
    )
    assert any("damaged or not Parquet" in problem for problem in check(tmp_path))
