"""Many questions at once: the same pairs as one at a time and as by definition, and no more work than they are."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageDraw, ImageOps

from livek12.core.languages import language_of
from livek12.core.records import Image, Language, Option
from livek12.dataset_builders.duplicates.finding import LOOSE, THRESHOLD, DuplicateIndex, find_pairs
from livek12.dataset_builders.duplicates.library import (
    BATCH,
    SAME_ALONE,
    SAME_FIGURE,
    Library,
    Stem,
    distance,
    figure_of,
    sketch,
    stem_of,
)
from livek12.dataset_builders.duplicates.search import FEWEST, add_questions

WORDS: dict[Language, list[str]] = {
    "zh": [*"已知椭圆离心率过右焦点且斜率为的直线与交于两求三角形面积最大值若函数图象数列等差速度物块质量光滑水平桌面"],
    "en": "rod mass hinge release angular speed find block slides smooth plane charge field light lens gas".split(),
    "ko": [*"다음그림과같이반지름이인원에내접하는삼각형에서선분의길이를구하고풀이과정을쓰시오함수그래프수열속도"],
}


def made(id: str, language: Language, text: str, options: tuple[str, ...] = (), answer: str = "") -> Stem:
    listed = [Option(label=label, text=option) for label, option in zip("ABCD", options, strict=False)]
    return stem_of(id, "livek12", language, None, text, listed, [answer] if answer else [], [])


def library_of(stems: list[Stem]) -> Library:
    library = Library()
    library.add_stems(stems)
    return library


def pairs_of(stems: list[Stem], least: float = THRESHOLD) -> dict[tuple[str, str], tuple[float, str]]:
    return {
        (stems[one].id, stems[other].id): (round(similarity, 9), difference)
        for one, other, similarity, difference in find_pairs(library_of(stems), 0, least)
    }


def text_of(draw: random.Random, language: Language, length: int) -> str:
    between = " " if language == "en" else ""
    return between.join(draw.choice(WORDS[language]) for _ in range(length)) + f" {draw.randrange(99)}"


def changed(draw: random.Random, text: str, language: Language) -> str:
    """The text with a few changes, of all the kinds that there are rules for."""
    letters = list(text) or [""]
    for _ in range(draw.choice((0, 1, 3, 9))):
        letters[draw.randrange(len(letters))] = draw.choice((*WORDS[language][0], "7", "", "，"))
    before, behind = draw.choice(("", "12. ", "[3점] ")), draw.choice(("", "", "其余不变，求另一个量的值？" * 3))
    return before + "".join(letters) + behind


@st.composite
def some_stems(draw: Any) -> list[Stem]:
    seed = random.Random(draw(st.integers(0, 10_000)))
    stems: list[Stem] = []
    for number in range(seed.randrange(2, 40)):
        language: Language = seed.choice(("zh", "en", "ko"))
        same = [stem for stem in stems if stem.language == language]
        options = tuple(text_of(seed, language, 3) for _ in range(seed.choice((0, 0, 4))))
        if same and seed.random() < 0.6:
            text = changed(seed, seed.choice(same).shown, language)
        else:
            text = text_of(seed, language, seed.choice((0, 2, 20, 60)))
        stems.append(made(f"q{number:02d}", language, text, options, seed.choice(("", "A", "C"))))
    return stems


def runs(text: str, size: int) -> set[str]:
    """The shingles of a text by the definition."""
    pieces = text.split("\0")
    return {piece[n : n + size] for piece in pieces for n in range(max(1, len(piece) - size + 1))} - {""}


def jaccard(one: Stem, other: Stem) -> float:
    a, b = (runs(stem.masked, language_of(stem.language).word) for stem in (one, other))
    return len(a & b) / max(1, len(a | b))


@settings(max_examples=25)
@given(some_stems())
def test_many_at_once_one_at_a_time_and_the_definition_agree(stems: list[Stem]) -> None:
    found = pairs_of(stems)
    index = DuplicateIndex(stems)
    singly = {
        (*sorted((stem.id, match.other.id)),): (round(match.similarity, 9), match.difference)
        for stem in stems
        for match in index.matches(stem)
    }
    assert found == singly
    for number, one in enumerate(stems):
        for other in stems[number + 1 :]:
            similarity = jaccard(one, other) if one.language == other.language else 0.0
            if (one.id, other.id) in found:
                assert found[one.id, other.id][0] == pytest.approx(similarity)
                assert similarity >= THRESHOLD
            else:
                assert similarity < 0.9, "MinHash misses what is close to the threshold only"


def test_the_order_and_the_batches_do_not_matter() -> None:
    draw = random.Random(4)
    stems = []
    for number in range(3 * BATCH):
        text = text_of(draw, "zh", 30)
        stems += [made(f"a{number}", "zh", text), made(f"b{number}", "zh", changed(draw, text, "zh"))]
    whole = pairs_of(stems)
    assert len(whole) > BATCH
    pieces = Library()
    for size in (1, 7, 500):
        first = len(pieces)
        pieces.add(sketch(stems[first : first + size]))
    pieces.add_stems(stems[len(pieces) :])
    named = {(stems[a].id, stems[b].id) for a, b, _, _ in find_pairs(pieces)}
    assert named == set(whole)
    assert {frozenset(pair) for pair in pairs_of(stems[::-1])} == {frozenset(pair) for pair in whole}


def test_other_processes_make_the_same_sketches() -> None:
    draw = random.Random(5)
    stems = [made(f"q{n}", "ko", text_of(draw, "ko", 25)) for n in range(FEWEST + 2 * BATCH)]
    stems.append(made("again", "ko", "3. " + stems[-1].shown))
    counted: list[int] = []
    library = Library()
    add_questions(library, iter(stems), pictures=False, step=lambda: counted.append(1))
    assert len(library) == len(counted) == len(stems)
    assert [library.stem(place) for place in (0, FEWEST, len(stems) - 1)] == [stems[0], stems[FEWEST], stems[-1]]
    assert len(stems) - 1 in {other for _, other, _, difference in find_pairs(library) if not difference}


def templates(count: int, copies: int) -> list[Stem]:
    """Questions of a few templates with other numbers, one in nineteen of them with a copy at the end of the list."""
    draw = random.Random(count)
    texts: dict[str, str] = {}
    bases = [text_of(draw, "zh", 60) for _ in range(count // 200)]
    for number in range(count - copies):
        base = bases[number % len(bases)]
        texts[f"q{number}"] = f"{base[:30]}{number}{base[30:]}{draw.randrange(10**6)}"
    for number in range(copies):
        texts[f"copy{number}"] = f"{number % 30 + 1}. {texts[f'q{number * 19}']}".replace("的", " 的 ")
    return [made(id, "zh", text) for id, text in texts.items()]


@pytest.mark.slow
def test_the_work_grows_with_the_questions_not_with_their_square() -> None:
    """Twenty thousand questions of a hundred templates: a hundredth of a percent of all pairs is looked at."""
    looked = {}
    for count in (5_000, 20_000):
        copies = count // 20 - 1
        stems = templates(count, copies)
        pairs = find_pairs(library_of(stems))
        looked[count] = pairs.looked_at
        duplicates = {(stems[a].id, stems[b].id) for a, b, _, difference in pairs if not difference}
        assert duplicates == {(f"q{number * 19}", f"copy{number}") for number in range(copies)}
    assert looked[20_000] < 4.5 * looked[5_000]
    assert looked[20_000] < 20_000 * 24


def test_only_pairs_with_a_later_question() -> None:
    stems = [made(f"q{n}", "zh", text_of(random.Random(n % 3), "zh", 40)) for n in range(9)]
    found = [(a, b) for a, b, _, _ in find_pairs(library_of(stems), 6)]
    assert sorted(found) == [(a, b) for b in (6, 7, 8) for a in (b - 6, b - 3)] or len(found) == 6
    assert all(b >= 6 for _, b in found)


def test_nothing_comes_of_nothing() -> None:
    assert len(find_pairs(Library())) == 0
    assert pairs_of([made("a", "zh", ""), made("b", "zh", "？"), made("c", "zh", "")]) == {}
    assert DuplicateIndex([]).matches(made("a", "zh", "已知椭圆")) == []


def test_what_is_misread_is_a_variant_in_wording_where_that_is_wanted() -> None:
    text = text_of(random.Random(8), "zh", 80)
    letters = list(text) or [""]
    for place in range(4, 70, 9):
        letters[place] = "〇甲乙丙"[place % 4]
    stems = [made("a", "zh", text), made("b", "zh", "".join(letters)), made("c", "zh", "".join(letters) + " 17")]
    assert LOOSE < jaccard(stems[0], stems[1]) < THRESHOLD
    assert set(pairs_of(stems)) == {("b", "c")}
    loose = pairs_of(stems, LOOSE)
    assert loose["a", "b"][1] == "other wording"
    assert ("a", "c") not in loose, "below the threshold other numbers are another question"


def drawn(seed: int, size: tuple[int, int] = (300, 220)) -> Pillow.Image:
    """A line drawing on white, as in an exam."""
    draw = random.Random(seed)
    image = Pillow.new("L", size, 255)
    pen = ImageDraw.Draw(image)
    for _ in range(9):
        places = [(draw.randrange(20, size[0] - 20), draw.randrange(20, size[1] - 20)) for _ in range(2)]
        pen.line(places, fill=0, width=draw.choice((2, 3, 5)))
    x, y, r = draw.randrange(60, 200), draw.randrange(60, 150), draw.randrange(20, 50)
    pen.ellipse((x - r, y - r, x + r, y + r), outline=0, width=3, fill=draw.choice((None, 128)))
    return image


def encoded(image: Pillow.Image, kind: str = "PNG", **options: Any) -> Image:
    data = io.BytesIO()
    image.save(data, kind, **options)
    return Image(bytes=data.getvalue())


def tight(image: Pillow.Image) -> Pillow.Image:
    """Cut off behind the first lines drawn, and a fiftieth of the picture with it."""
    left, top, right, bottom = ImageOps.invert(image).getbbox() or (0, 0, *image.size)
    return image.crop((left + image.width // 50, top, right, bottom - image.height // 50))


AGAIN: dict[str, Callable[[Pillow.Image], Image]] = {
    "recompressed": lambda image: encoded(image, "JPEG", quality=30),
    "half": lambda image: encoded(image.resize((image.width // 2, image.height // 2))),
    "larger": lambda image: encoded(image.resize((image.width * 7 // 4, image.height * 7 // 4))),
    "more margin": lambda image: encoded(ImageOps.expand(image, 40, 255)),
    "black margin": lambda image: encoded(ImageOps.expand(image, 25, 0)),
    "two margins": lambda image: encoded(ImageOps.expand(ImageOps.expand(image, 20, 0), 30, 255)),
    "cropped": lambda image: encoded(tight(image)),
    "grey": lambda image: encoded(image.point(lambda value: 30 + value * 3 // 4)),
    "palette": lambda image: encoded(image.convert("P"), "GIF"),
}


@pytest.mark.parametrize("change", AGAIN)
def test_the_same_figure_again(change: str) -> None:
    figures = [figure_of(encoded(drawn(seed))) for seed in range(30)]
    again = [figure_of(AGAIN[change](drawn(seed))) for seed in range(30)]
    apart = [distance([a], [b]) for a, b in zip(figures, again, strict=True) if a and b]
    assert len(apart) == 30
    near = sum(found is not None and found <= SAME_FIGURE for found in apart)
    assert near >= (22 if change == "cropped" else 28)
    others = [distance([a], [b]) for n, a in enumerate(figures) for b in again[n + 1 :] if a and b]
    assert sum(found is not None and found <= SAME_ALONE for found in others) == 0


def test_what_is_no_figure_has_no_hash() -> None:
    assert figure_of(Image(bytes=b"not a picture")) is None
    assert figure_of(Image()) is None
    assert figure_of(encoded(Pillow.new("L", (200, 200), 255))) is None, "empty"
    assert figure_of(encoded(drawn(1).resize((20, 14)))) is None, "a symbol"
    bomb = Pillow.new("1", (20_000, 5_000))
    assert figure_of(encoded(bomb)) is None


def with_figure(id: str, text: str, image: Image, language: Language = "zh") -> Stem:
    return stem_of(id, "livek12", language, None, text, [], [], [image], pictures=True)


def test_figures_find_what_texts_do_not() -> None:
    long = [text_of(random.Random(n), "zh", 70) for n in range(4)]
    stems = [
        with_figure("a", "如图,求阴影部分的面积.", encoded(drawn(1))),
        with_figure("b", "如图,求阴影部分的面积.", encoded(drawn(2))),
        with_figure("c", "3. 如图，求阴影部分的面积。", AGAIN["black margin"](drawn(1))),
        with_figure("d", long[0], encoded(drawn(3))),
        with_figure("e", long[1], AGAIN["half"](drawn(3))),
        with_figure("f", long[2], AGAIN["half"](drawn(3)), "ko"),
        *(with_figure(f"other{n}", long[3] + str(n), encoded(drawn(10 + n))) for n in range(3)),
    ]
    found = {pair: difference for pair, (_, difference) in pairs_of(stems).items()}
    assert found.pop(("a", "c")) == ""
    assert found.pop(("a", "b")) == found.pop(("b", "c")) == "other figures"
    assert found.pop(("d", "e")) == "same figure, other text"
    assert set(found.values()) == {"other numbers"}, "a language of its own, and figures of their own"
    index = DuplicateIndex(stems)
    assert [(match.other.id, match.difference) for match in index.matches(stems[4])] == [
        ("d", "same figure, other text")
    ]


def test_a_logo_on_every_page_is_no_crowd_of_pairs() -> None:
    logo = encoded(drawn(5))
    stems = [with_figure(f"q{n:03d}", text_of(random.Random(n), "en", 40), logo, "en") for n in range(300)]
    pairs = find_pairs(library_of(stems))
    assert pairs.looked_at < 2 * len(stems)
    assert len(stems) - 1 <= len(pairs), "each with the first"


def test_real_figures_are_found_again(shared_data: Path) -> None:
    files = sorted((shared_data / "cfe_bench" / "images").rglob("*.*"))[::2]
    known, again = {}, {}
    for file in files:
        with Pillow.open(file) as picture:
            grey = ImageOps.expand(picture.convert("L").resize((picture.width // 2, picture.height // 2)), 9, 255)
        known[file.name], again[file.name] = figure_of(Image(bytes=file.read_bytes())), figure_of(encoded(grey, "JPEG"))
    both = [name for name in known if known[name] and again[name]]
    assert len(both) > 60
    apart = {name: distance([known[name]], [again[name]]) for name in both}  # type: ignore[list-item]
    assert sum(found is not None and found <= SAME_FIGURE for found in apart.values()) >= 0.95 * len(both)
