"""Questions in words: sciences, history, reading; with figures, tables and passages."""

from __future__ import annotations

import random
from typing import Final

from livek12.scripts.bench.exams.content import ItemPart, PaperItem, Passage, Template, Words, choice, filled


def speed(draw: random.Random, words: Words) -> PaperItem:
    """A constant speed."""
    v, t = draw.randint(3, 18), draw.randint(4, 15)
    stem = filled(words["stem"], {"who": draw.choice(words["names"]), "d": v * t, "t": t})
    wrong = [v + 1, v * 2, v + t, v + 3]
    return choice(draw, stem, f"{v} m/s", [f"{value} m/s" for value in wrong])


def circuit(draw: random.Random, words: Words) -> PaperItem:
    """Two resistors in series."""
    a, b, i = draw.randint(2, 12), draw.randint(2, 12), draw.randint(1, 4)
    right = (a + b) * i
    wrong = [f"{value} V" for value in (a * i, b * i, right + 2, a * b, right + 5)]
    return choice(draw, filled(words["stem"], {"a": a, "b": b, "i": i}), f"{right} V", wrong, figure="circuit")


def kinetic(draw: random.Random, words: Words) -> PaperItem:
    """Kinetic energy as a function of speed."""
    k = draw.randint(2, 5)
    wrong = [f"{value}{words['unit']}" for value in (k, 2 * k + 1, k**3, k * k + 1)]
    return choice(draw, filled(words["stem"], {"k": k}), f"{k * k}{words['unit']}", wrong)


def equation(draw: random.Random, words: Words) -> PaperItem:
    """A balanced equation."""
    arrow = "\\rightarrow"
    sets = (
        ("2H_{2}+O_{2} > 2H_{2}O", "H_{2}+O_{2} > 2H_{2}O", "2H_{2}+O_{2} > H_{2}O", "H_{2}+2O_{2} > H_{2}O"),
        ("N_{2}+3H_{2} > 2NH_{3}", "N_{2}+H_{2} > 2NH_{3}", "N_{2}+3H_{2} > NH_{3}", "2N_{2}+3H_{2} > 2NH_{3}"),
        (
            "4Fe+3O_{2} > 2Fe_{2}O_{3}",
            "2Fe+3O_{2} > 2Fe_{2}O_{3}",
            "4Fe+O_{2} > 2Fe_{2}O_{3}",
            "Fe+O_{2} > Fe_{2}O_{3}",
        ),
        ("2Na+Cl_{2} > 2NaCl", "Na+Cl_{2} > NaCl", "2Na+Cl_{2} > NaCl", "Na+2Cl_{2} > 2NaCl"),
    )
    right, *wrong = (f"${each.replace(' >', arrow)}$" for each in draw.choice(sets))
    return choice(draw, words["stem"], right, wrong)


def pond(draw: random.Random, words: Words) -> PaperItem:
    """A food chain."""
    right, *wrong = words["options"]
    return choice(draw, words["stem"], right, [*wrong, words["more"]])


def chart(draw: random.Random, words: Words) -> PaperItem:
    """A reading of a bar chart."""
    days = draw.randint(4, 9)
    right, *wrong = words["options"]
    return choice(draw, filled(words["stem"], {"n": days}), right, wrong, figure="bars")


def cooling(draw: random.Random, words: Words) -> PaperItem:
    """A table of temperatures."""
    warm, step = draw.randint(60, 90), draw.randint(3, 8)
    values = [warm - step * number for number in range(4)]
    rows = [[words["head"][0], "0", "2", "4", "6"], [words["head"][1], *map(str, values)]]
    stem = filled(words["stem"], {"who": draw.choice(words["names"])})
    wrong = [f"{number} °C" for number in (step + 1, step * 2, step + 4, step - 1)]
    return choice(draw, stem, f"{step} °C", wrong, table=rows)


CHOICES: Final[tuple[Template, ...]] = (speed, circuit, kinetic, equation, pond, chart, cooling)


def density(draw: random.Random, words: Words) -> PaperItem:
    """A density as a number."""
    volume, rho = draw.randint(5, 20), draw.randint(2, 9)
    return PaperItem(filled(words["stem"], {"m": volume * rho, "v": volume}), "blank", answer=str(rho))


def organ(draw: random.Random, words: Words) -> PaperItem:
    """A word to fill in."""
    stem, answer = draw.choice(words["sets"])
    return PaperItem(stem, "blank", answer=answer)


BLANKS: Final[tuple[Template, ...]] = (density, organ)


def pendulum(draw: random.Random, words: Words) -> PaperItem:
    """An experiment."""
    length, n = draw.randint(40, 95), draw.choice([10, 20])
    values = {"who": draw.choice(words["names"]), "l": length, "n": n}
    texts = [filled(text, values) for text in words["parts"]]
    points = [draw.randint(1, 2), 2, 3]
    made = tuple(ItemPart(text, "", point) for text, point in zip(texts, points, strict=True))
    return PaperItem(filled(words["stem"], values), "free", parts=made, figure="pendulum")


def solution(draw: random.Random, words: Words) -> PaperItem:
    """A salt solution, with a table to read."""
    rows = [(20 * step, 30 + 3 * step + draw.randint(0, 2)) for step in range(4)]
    made = (ItemPart(words["parts"][0], "", 2), ItemPart(words["parts"][1], f"{2 * rows[2][1]} g", 3))
    cells = ((words["head"][0], *(str(row[0]) for row in rows)), (words["head"][1], *(str(row[1]) for row in rows)))
    return PaperItem(words["stem"], "free", parts=made, table=cells)


FREE: Final[tuple[Template, ...]] = (pendulum, solution)


def reading(draw: random.Random, words: Words, count: int) -> Passage:
    """A text with questions that share it."""
    names = draw.sample(words["names"], 3)
    places = draw.sample(words["places"], 3)
    values = {"a": names[0], "b": names[1], "p": places[0], "q": places[1], "n": draw.randint(3, 9)}
    items = []
    for stem, right, wrong in words["questions"][:count]:
        items.append(
            choice(
                draw, filled(stem, values), filled(right, values), [filled(distractor, values) for distractor in wrong]
            )
        )
    return Passage(filled(words["text"], values), tuple(items))


def data(draw: random.Random, words: Words, count: int) -> Passage:
    """A table with questions that share it."""
    names = draw.sample(words["names"], 4)
    values = draw.sample(range(11, 60), 4)
    most, least = names[values.index(max(values))], names[values.index(min(values))]
    other = next(name for name in words["names"] if name not in names)
    total = values[0] + values[1]
    stem = filled(words["questions"][2], {"a": names[0], "b": names[1]})
    items = (
        choice(draw, words["questions"][0], most, [*(label for label in names if label != most), other]),
        choice(draw, words["questions"][1], least, [*(label for label in names if label != least), other]),
        choice(draw, stem, total, [total + 2, total - 3, total + 5, total + 10]),
    )
    rows = ((words["head"][0], *names), (words["head"][1], *map(str, values)))
    return Passage("\n".join(" ".join(row) for row in rows), items[:count], rows)
