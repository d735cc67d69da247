"""What every plug-in takes from `tasks.plugins.exam`: texts, pictures as our own engines show them, lost answers."""

from __future__ import annotations

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Image
from livek12.engines.images import Pictures
from livek12.tasks.plugins.harness_task import DATA_VARIABLE, Document, open_task
from tests.plugins.conftest import rgb_sha256
from tests.plugins.odd_exam import TEXTS, pictures


def test_pictures_are_those_of_our_own_engines(odd_data: str) -> None:
    exam, ours = open_task("livek12_text_image", odd_data), Pictures()
    assert len(exam.documents) == len(pictures()) + 2
    for document in exam.documents:
        shown = ours.of(document.request)
        assert [rgb_sha256(picture) for picture in document.pictures()] == [
            rgb_sha256(shown[image.sha256]) for image in document.images
        ]
    sideways, clear = (exam.document(f"odd picture {name}").picture(0) for name in ("rot.jpg", "alpha.png"))
    assert sideways.size == (16, 48), "upright"
    assert clear.getpixel((39, 0)) == (255, 255, 255), "on white"


def test_texts_are_put_as_they_are(odd_data: str) -> None:
    exam = open_task("livek12_text_only", odd_data)
    assert {document.id for document in exam.documents} == set(TEXTS)
    assert all(document.question.question in document.text for document in exam.documents)
    braces = next(id for id in TEXTS if id.startswith("odd/1"))
    assert TEXTS[braces] in exam.document(braces).text


def test_a_damaged_picture_is_one_line_with_its_question(odd_data: str) -> None:
    whole = open_task("livek12_text_image", odd_data).document("odd_options")
    damaged = {name: Image(bytes=(image.bytes or b"")[:40]) for name, image in whole.request.images.items()}
    document = Document(whole.question, whole.request.model_copy(update={"images": damaged}))
    with pytest.raises(UserError, match=r"^question odd_options: image 1 of 2 cannot be decoded"):
        document.pictures()


def test_an_answer_that_was_lost_is_undecided(odd_data: str) -> None:
    exam = open_task("livek12_text_only", odd_data)
    verdict = exam.mark_unless("[GAVE_UP]", "odd_4", "[GAVE_UP] after 5 tries", trial=1)
    assert (verdict.correct, verdict.low, verdict.high) == (None, 0, verdict.max_points)
    assert "no answer: [GAVE_UP] after 5 tries" in verdict.parts[0].reason


def test_the_variable_is_read_at_each_call(odd_data: str, sample_data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (odd_data, sample_data):
        monkeypatch.setenv(DATA_VARIABLE, data)
        assert open_task("livek12_text_only") is open_task("livek12_text_only", data)
