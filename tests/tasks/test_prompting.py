"""What reaches the model: texts, pictures at their marks, pages first and the number last."""

from __future__ import annotations

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Failure, Image, Key, Option, Question, Request, Sampling
from livek12.tasks.prompting import asked_together, asking_order, build_request, requests
from livek12.tasks.registry import all_tasks, get_task, get_tasks, limited


def picture(name: str) -> Image:
    return Image(bytes=f"picture {name}".encode(), path=f"{name}.png")


def question(**changes: object) -> Question:
    base: dict[str, object] = {
        "id": "q1",
        "benchmark": "livek12",
        "language": "en",
        "subject": "math",
        "question_type": "single_choice",
        "question": "Which of {these} is right?",
        "options": [Option(label="A", text="one"), Option(label="B", text="two")],
        "answer": ["A"],
    }
    return Question.model_validate({**base, **changes})


def build(task: str, asked: Question, **pages: Image) -> Request:
    found = {("p", int(number[1:])): page for number, page in pages.items()}
    key = Key(task=task, question_id=asked.id)
    return build_request(get_task(task), asked, key, Sampling(seed=7), found)


def shape(request: Request) -> list[str]:
    names = {sha: image.path for sha, image in request.images.items()}
    (message,) = request.messages
    return [part.text or "" if part.type == "text" else f"[{names[part.image or '']}]" for part in message.content]


def test_text_is_one_part_and_braces_stay() -> None:
    (text,) = shape(build("livek12_text_only", question()))
    assert "Which of {these} is right?\nA. one\nB. two\n" in text
    assert r"\boxed{}" in text and "{question}" not in text


def test_the_prompt_is_in_the_language_of_the_question() -> None:
    assert "请解答" in shape(build("livek12_text_only", question(language="zh")))[0]
    assert "Answer the exam question" in shape(build("livek12_text_only", question(language="en")))[0]
    with pytest.raises(UserError, match=r"cfe_text has no prompt in 'zh': write prompts/zh.txt; it has: en"):
        build("cfe_text", question(language="zh"))


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("see <image> there", ["a", "b"], ["see ", "[1.png]", " there\nA. a\nB. b"]),
        ("no mark", ["a", "b"], ["no mark\n", "[1.png]", "\nA. a\nB. b"]),
        (
            "look <image>",
            ["<image>", "<image> b"],
            ["look ", "[1.png]", "\nA. ", "[2.png]", "\nB. ", "[3.png]", " b"],
        ),
    ],
)
def test_pictures_stand_at_their_marks(text: str, options: list[str], expected: list[str]) -> None:
    count = sum(piece.startswith("[") for piece in expected)
    asked = question(
        question=text,
        options=[Option(label=label, text=option) for label, option in zip("AB", options, strict=True)],
        images=[picture(str(number)) for number in range(1, count + 1)],
    )
    got = shape(build("livek12_text_image", asked))
    before, after = get_task("livek12_text_image").prompt("en").split("{question}")
    assert "".join(got) == before + "".join(expected) + after.rstrip()
    assert [part for part in got if part.startswith("[")] == [part for part in expected if part.startswith("[")]


def test_a_picture_used_twice_travels_once() -> None:
    asked = question(question="<image> and <image>", images=[picture("same"), picture("same")])
    request = build("livek12_text_image", asked)
    assert len(request.images) == 1
    assert [part for part in shape(request) if part == "[same.png]"] == ["[same.png]"] * 2


def test_pages_come_first_and_the_number_last() -> None:
    asked = question(paper_id="p", page_numbers=[2, 3], number="17", images=[picture("figure")])
    first, second, text = shape(build("livek12_image_only", asked, p2=picture("2"), p3=picture("3")))
    assert (first, second) == ("[2.png]", "[3.png]")
    assert text.endswith("17") and "Which of" not in text


def test_the_same_paper_shares_its_prefix() -> None:
    """All of the prompt but its last words is equal for two questions of a page: what a prefix cache needs."""
    one, two = (
        shape(build("livek12_image_only", question(paper_id="p", page_numbers=[1], number=n), p1=picture("1")))
        for n in ("3", "4")
    )
    assert one[0] == two[0]
    assert one[1][:-1] == two[1][:-1]


@pytest.mark.parametrize(
    ("task", "changes", "match"),
    [
        (
            "livek12_text_only",
            {"images": [picture("1")]},
            "q1 has images but task livek12_text_only is text-only",
        ),
        ("livek12_text_image", {"images": [Image(path="gone.png")]}, r"q1: image 1 \(gone.png\) is missing"),
        (
            "livek12_text_image",
            {"question": "<image> <image>", "images": [picture("1")]},
            "2 image marks but 1 images",
        ),
        (
            "livek12_image_only",
            {"paper_id": "p", "page_numbers": [9], "number": "1"},
            "page 9 of paper p is missing",
        ),
        ("livek12_image_only", {}, "no paper, pages or number"),
    ],
)
def test_what_cannot_be_asked_is_one_line_with_the_id(task: str, changes: dict[str, object], match: str) -> None:
    with pytest.raises(UserError, match=match):
        build(task, question(**changes))


def test_a_bad_question_fails_alone_and_done_ones_are_left_out() -> None:
    asked = [question(id="good"), question(id="bad", images=[picture("1")]), question(id="done")]
    wanted = {f"livek12_text_only/{name}/{trial}" for name in ("good", "bad", "done") for trial in (0, 1)}
    wanted.remove("livek12_text_only/done/0")
    got = list(requests(get_task("livek12_text_only"), asked, 2, Sampling(seed=5), {}, wanted.__contains__))
    assert [(type(one), one.key.question_id, one.key.trial) for one in got] == [
        (Request, "good", 0),
        (Request, "good", 1),
        (Failure, "bad", 0),
        (Failure, "bad", 1),
        (Request, "done", 1),
    ]
    assert {one.sampling.seed for one in got if isinstance(one, Request)} == {5}  # engines add the trial


def test_image_only_asks_paper_by_paper() -> None:
    asked = [question(id=f"{p}{n}", paper_id=p, page_numbers=[n], number=str(n)) for n in (2, 1) for p in "yx"]
    assert [q.id for q in asking_order(get_task("livek12_image_only"), asked)] == ["x1", "x2", "y1", "y2"]
    assert asking_order(get_task("livek12"), asked) == asked


def test_names_are_unique_and_a_typo_is_answered() -> None:
    assert all(name == task.name for name, task in all_tasks().items())
    with pytest.raises(UserError, match="did you mean livek12_text_only"):
        get_task("livek12_textonly")
    with pytest.raises(UserError, match="livek12 tasks"):
        get_task("zzz")
    assert [task.name for task in get_tasks("cfe_text, kmmmu,cfe_text")] == ["cfe_text", "kmmmu"]


@pytest.mark.parametrize("name", sorted(all_tasks()))
def test_every_template_has_its_places(name: str) -> None:
    task = all_tasks()[name]
    assert task.prompts
    for text in task.prompts.values():
        assert text.count("{pages}" if task.modality == "image_only" else "{question}") == 1
        assert ("{number}" in text) == (task.modality == "image_only")
        assert r"\boxed{}" in text


def test_trials_share_all_but_their_key() -> None:
    task = get_task("livek12_text_only")
    asked = [question(id="a"), question(id="b/1", question="Other?"), question(id="bad", images=[picture("x")])]
    got = list(requests(task, asked, 3, Sampling(), {}, lambda key: key != "livek12_text_only/a/1"))
    keys = [(item.key.question_id, item.key.trial) for item in got]
    assert keys == [(name, trial) for name in ("a", "b/1", "bad") for trial in range(3) if (name, trial) != ("a", 1)]
    for item in got[:5]:
        (own,) = (q for q in asked if q.id == item.key.question_id)
        assert item == build_request(task, own, item.key, Sampling(), {})
    assert isinstance(got[0], Request) and isinstance(got[1], Request) and got[0].messages is got[1].messages
    assert [isinstance(item, Failure) and "has images" in item.reason for item in got[5:]] == [True] * 3


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("livek12_text_only/a/0", "livek12_text_only/a/63", True),
        ("livek12_text_only/a/0", "livek12_text_only/a/64", False),
        ("livek12_text_only/a/0", "livek12_text_only/b/1/0", False),
        ("livek12_text_only/b/1/0", "livek12_text_only/b/1/1", True),
        ("livek12_text_only/a/0", "livek12_text_only@0.5/a/0", True),
        ("livek12_image_only/a/0", "livek12_image_only/b/1/5", True),
        ("livek12_image_only/a/0", "livek12_image_only/c/0", False),
        ("livek12_image_only/a/0", "livek12_text_only/a/0", False),
    ],
)
def test_what_one_process_should_ask(one: str, other: str, together: bool) -> None:
    """The trials of a question, under every budget, and all questions on one paper where pages are shown."""
    text, pages = get_task("livek12_text_only"), get_task("livek12_image_only")
    asked = [question(id=name, paper_id=paper) for name, paper in (("a", "p"), ("b/1", "p"), ("c", "r"))]
    tasks = [text, limited(text, 0.5), pages]
    group = asked_together(tasks, dict.fromkeys((task.name for task in tasks), asked))
    assert (group(one) == group(other)) == together
