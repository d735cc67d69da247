"""Questions in words: sciences, history, reading; with figures, tables and passages."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from livek12.scripts.bench.exams.content import ItemPart, Language, PaperItem, Passage, choice, filled

Template = Callable[[random.Random, Language], PaperItem]
Said = dict[Language, str]
_NAMES: Final[dict[Language, tuple[str, ...]]] = {
    "en": ("Mara", "Tobias", "Ines", "Kofi", "Leila", "Anton"),
    "zh": ("小林", "小周", "小何", "小田", "小许", "小邓"),
    "ko": ("민서", "지우", "하린", "도윤", "서아", "준호"),
}


def speed(draw: random.Random, language: Language) -> PaperItem:
    """A constant speed."""
    v, t = draw.randint(3, 18), draw.randint(4, 15)
    stems: Said = {
        "en": "<who> pushes a trolley <d> m along a level floor in <t> s at a steady speed. The speed is",
        "zh": "<who>用 <t> s 将小车沿水平地面匀速推了 <d> m，小车的速度大小为",
        "ko": "<who>가 수레를 수평면에서 <t>초 동안 <d> m 등속으로 밀었다. 수레의 속력은?",
    }
    stem = filled(stems[language], {"who": draw.choice(_NAMES[language]), "d": v * t, "t": t})
    wrong = [v + 1, v * 2, v + t, v + 3]
    return choice(draw, stem, f"{v} m/s", [f"{value} m/s" for value in wrong])


def circuit(draw: random.Random, language: Language) -> PaperItem:
    """Two resistors in series."""
    a, b, i = draw.randint(2, 12), draw.randint(2, 12), draw.randint(1, 4)
    stems: Said = {
        "en": "The circuit in the figure has two resistors of <a> Ω and <b> Ω in series. The current is <i> A. What "
        "does the "
        "voltmeter across both show?",
        "zh": "如图所示的电路中，两电阻分别为 <a> Ω 和 <b> Ω，电流为 <i> A，则两电阻两端的总电压为",
        "ko": "그림과 같이 <a> Ω과 <b> Ω인 저항이 직렬로 연결되어 있고 전류가 <i> A일 때, 전체 전압은?",
    }
    right = (a + b) * i
    wrong = [f"{value} V" for value in (a * i, b * i, right + 2, a * b, right + 5)]
    return choice(draw, filled(stems[language], {"a": a, "b": b, "i": i}), f"{right} V", wrong, figure="circuit")


def kinetic(draw: random.Random, language: Language) -> PaperItem:
    """Kinetic energy as a function of speed."""
    k = draw.randint(2, 5)
    stems: Said = {
        "en": "The speed of a ball becomes <k> times as large. Its kinetic energy $E=\\frac{1}{2}mv^{2}$ becomes",
        "zh": "小球的速度变为原来的 <k> 倍，其动能 $E=\\frac{1}{2}mv^{2}$ 变为原来的",
        "ko": "공의 속력이 <k>배가 되면 운동 에너지 $E=\\frac{1}{2}mv^{2}$은 몇 배가 되는가?",
    }
    unit: Said = {"en": " times as large", "zh": " 倍", "ko": "배"}
    wrong = [f"{value}{unit[language]}" for value in (k, 2 * k + 1, k**3, k * k + 1)]
    return choice(draw, filled(stems[language], {"k": k}), f"{k * k}{unit[language]}", wrong)


def equation(draw: random.Random, language: Language) -> PaperItem:
    """A balanced equation."""
    stems: Said = {
        "en": "Which equation is balanced?",
        "zh": "下列化学方程式已配平的是",
        "ko": "다음 중 화학 반응식이 옳게 맞추어진 것은?",
    }
    sets = (
        (
            "$2H_{2}+O_{2}\\rightarrow 2H_{2}O$",
            "$H_{2}+O_{2}\\rightarrow 2H_{2}O$",
            "$2H_{2}+O_{2}\\rightarrow H_{2}O$",
            "$H_{2}+2O_{2}\\rightarrow H_{2}O$",
        ),
        (
            "$N_{2}+3H_{2}\\rightarrow 2NH_{3}$",
            "$N_{2}+H_{2}\\rightarrow 2NH_{3}$",
            "$N_{2}+3H_{2}\\rightarrow NH_{3}$",
            "$2N_{2}+3H_{2}\\rightarrow 2NH_{3}$",
        ),
        (
            "$4Fe+3O_{2}\\rightarrow 2Fe_{2}O_{3}$",
            "$2Fe+3O_{2}\\rightarrow 2Fe_{2}O_{3}$",
            "$4Fe+O_{2}\\rightarrow 2Fe_{2}O_{3}$",
            "$Fe+O_{2}\\rightarrow Fe_{2}O_{3}$",
        ),
        (
            "$2Na+Cl_{2}\\rightarrow 2NaCl$",
            "$Na+Cl_{2}\\rightarrow NaCl$",
            "$2Na+Cl_{2}\\rightarrow NaCl$",
            "$Na+2Cl_{2}\\rightarrow 2NaCl$",
        ),
    )
    right, *wrong = draw.choice(sets)
    return choice(draw, stems[language], right, wrong)


def pond(draw: random.Random, language: Language) -> PaperItem:
    """A food chain."""
    stems: Said = {
        "en": "Algae are eaten by water fleas, water fleas by roach and roach by pike. All pike are removed from the "
        "pond. "
        "What is the most likely change in the first weeks?",
        "zh": "池塘中，藻类被水蚤取食，水蚤被小鱼取食，小鱼被狗鱼取食。若将狗鱼全部移走，最初几周最可能出现的变化是",
        "ko": "연못에서 물벼룩은 조류를, 작은 물고기는 물벼룩을, 강꼬치고기는 작은 물고기를 먹는다. 강꼬치고기를 "
        "모두 없앨 때 처음에 일어날 변화로 가장 알맞은 것은?",
    }
    options: dict[Language, tuple[str, ...]] = {
        "en": ("There are more roach", "There are more water fleas", "There are fewer roach", "There are no algae"),
        "zh": ("小鱼增多", "水蚤增多", "小鱼减少", "藻类消失"),
        "ko": ("작은 물고기가 늘어난다", "물벼룩이 늘어난다", "작은 물고기가 줄어든다", "조류가 사라진다"),
    }
    more: Said = {
        "en": "The water turns into ice",
        "zh": "池水全部结冰",
        "ko": "물이 모두 언다",
    }
    right, *wrong = options[language]
    return choice(draw, stems[language], right, [*wrong, more[language]])


def chart(draw: random.Random, language: Language) -> PaperItem:
    """A reading of a bar chart."""
    days = draw.randint(4, 9)
    stems: Said = {
        "en": "The bar chart shows the rain of four months. It rained on <n> days of the wettest month. Which "
        "statement "
        "does the chart support?",
        "zh": "下图为某地四个月的降水量，降水最多的月份有 <n> 个雨日。下列说法能由图得出的是",
        "ko": "그림은 어느 지역의 넉 달 동안의 강수량이다. 비가 가장 많은 달에는 <n>일 동안 비가 왔다. 그림에서 알 "
        "수 있는 것은?",
    }
    options: dict[Language, tuple[str, ...]] = {
        "en": (
            "The rain differs from month to month",
            "It never rained in two of them",
            "All months are alike",
            "The rain is measured in days",
            "The chart covers five years",
        ),
        "zh": ("各月降水量不相等", "有两个月无降水", "各月降水量相等", "降水量以天为单位", "图中有五年的资料"),
        "ko": (
            "달마다 강수량이 다르다",
            "두 달은 비가 오지 않았다",
            "모든 달의 강수량이 같다",
            "강수량의 단위는 일이다",
            "그림은 5년 동안의 것이다",
        ),
    }
    right, *wrong = options[language]
    return choice(draw, filled(stems[language], {"n": days}), right, wrong, figure="bars")


def cooling(draw: random.Random, language: Language) -> PaperItem:
    """A table of temperatures."""
    warm, step = draw.randint(60, 90), draw.randint(3, 8)
    values = [warm - step * number for number in range(4)]
    head: dict[Language, tuple[str, str]] = {
        "en": ("Time / min", "Temperature / °C"),
        "zh": ("时间/min", "温度/℃"),
        "ko": ("시간(분)", "온도(℃)"),
    }
    stems: Said = {
        "en": "<who> lets a cup of tea cool down and notes its temperature. By how much does it fall each two minutes?",
        "zh": "<who>测量一杯茶水冷却时的温度，数据如下表。每两分钟温度下降",
        "ko": "<who>가 식어 가는 차의 온도를 재었다. 2분마다 온도는 얼마나 내려가는가?",
    }
    rows = [[head[language][0], "0", "2", "4", "6"], [head[language][1], *map(str, values)]]
    stem = filled(stems[language], {"who": draw.choice(_NAMES[language])})
    wrong = [f"{number} °C" for number in (step + 1, step * 2, step + 4, step - 1)]
    return choice(draw, stem, f"{step} °C", wrong, table=rows)


CHOICES: Final[tuple[Template, ...]] = (speed, circuit, kinetic, equation, pond, chart, cooling)


def density(draw: random.Random, language: Language) -> PaperItem:
    """A density as a number."""
    volume, rho = draw.randint(5, 20), draw.randint(2, 9)
    stems: Said = {
        "en": "A stone of <m> g displaces <v> cm³ of water. Its density in g/cm³ is ____.",
        "zh": "一块质量为 <m> g 的石块排开 <v> cm³ 的水，其密度为____g/cm³。",
        "ko": "질량이 <m> g인 돌이 물 <v> cm³를 밀어낸다. 밀도(g/cm³)를 구하시오.",
    }
    return PaperItem(filled(stems[language], {"m": volume * rho, "v": volume}), "blank", answer=str(rho))


def organ(draw: random.Random, language: Language) -> PaperItem:
    """A word to fill in."""
    sets: dict[Language, tuple[tuple[str, str], ...]] = {
        "en": (
            ("The organ that pumps blood through the body is the ____.", "heart"),
            ("Green plants take up the gas called ____ to make sugar.", "carbon dioxide"),
        ),
        "zh": (("推动血液在全身流动的器官是____。", "心脏"), ("绿色植物光合作用吸收的气体是____。", "二氧化碳")),
        "ko": (
            ("온몸에 혈액을 보내는 기관의 이름을 쓰시오.", "심장"),
            ("광합성에 쓰이는 기체의 이름을 쓰시오.", "이산화 탄소"),
        ),
    }
    stem, answer = draw.choice(sets[language])
    return PaperItem(stem, "blank", answer=answer)


BLANKS: Final[tuple[Template, ...]] = (density, organ)


def pendulum(draw: random.Random, language: Language) -> PaperItem:
    """An experiment."""
    length, n = draw.randint(40, 95), draw.choice([10, 20])
    stems: Said = {
        "en": "<who> hangs a small bob on a thread of length <l> cm, as shown, and measures the time of <n> full "
        "swings.",
        "zh": "<who>用长 <l> cm 的细线悬挂小球，装置如图，测量 <n> 次全振动的时间。",
        "ko": "<who>가 그림과 같이 길이 <l> cm인 실에 추를 매달아 <n>번 왕복하는 시간을 재었다.",
    }
    parts: dict[Language, tuple[str, ...]] = {
        "en": (
            "State one quantity that must be kept the same.",
            "Explain why <n> swings are timed instead of one.",
            "The thread is made four times as long. Predict what happens to the period $T=2\\pi\\sqrt{\\frac{l}{g}}$.",
        ),
        "zh": (
            "写出一个必须保持不变的量。",
            "说明测量 <n> 次而不是一次全振动的理由。",
            "若线长变为原来的四倍，周期 $T=2\\pi\\sqrt{\\frac{l}{g}}$ 如何变化？",
        ),
        "ko": (
            "같게 해야 하는 양을 한 가지 쓰시오.",
            "한 번이 아니라 <n>번 재는 까닭을 설명하시오.",
            "실의 길이가 4배가 되면 주기 $T=2\\pi\\sqrt{\\frac{l}{g}}$은 어떻게 되는가?",
        ),
    }
    values = {"who": draw.choice(_NAMES[language]), "l": length, "n": n}
    texts = [filled(text, values) for text in parts[language]]
    points = [draw.randint(1, 2), 2, 3]
    made = tuple(ItemPart(text, "", point) for text, point in zip(texts, points, strict=True))
    return PaperItem(filled(stems[language], values), "free", parts=made, figure="pendulum")


def solution(draw: random.Random, language: Language) -> PaperItem:
    """A salt solution, with a table to read."""
    rows = [(20 * step, 30 + 3 * step + draw.randint(0, 2)) for step in range(4)]
    head: dict[Language, tuple[str, str]] = {
        "en": ("Temperature / °C", "Salt / g per 100 g of water"),
        "zh": ("温度/℃", "溶解度/g"),
        "ko": ("온도(℃)", "용해도(g)"),
    }
    stems: Said = {
        "en": "The table shows how much of a salt dissolves in water.",
        "zh": "下表为某盐在水中的溶解度。",
        "ko": "다음 표는 어떤 소금의 용해도를 나타낸 것이다.",
    }
    parts: dict[Language, tuple[str, ...]] = {
        "en": (
            "Describe how the solubility changes with temperature.",
            "Work out how much salt dissolves in 200 g of water at 40 °C.",
        ),
        "zh": ("描述溶解度随温度变化的规律。", "计算 40 ℃ 时 200 g 水中最多能溶解该盐的质量。"),
        "ko": ("온도에 따른 용해도의 변화를 설명하시오.", "40 ℃의 물 200 g에 녹을 수 있는 질량을 구하시오."),
    }
    made = (ItemPart(parts[language][0], "", 2), ItemPart(parts[language][1], f"{2 * rows[2][1]} g", 3))
    cells = ((head[language][0], *(str(row[0]) for row in rows)), (head[language][1], *(str(row[1]) for row in rows)))
    return PaperItem(stems[language], "free", parts=made, table=cells)


FREE: Final[tuple[Template, ...]] = (pendulum, solution)

_PLACES: Final[dict[Language, tuple[str, ...]]] = {
    "en": ("the harbour", "the old mill", "the railway museum"),
    "zh": ("码头", "老磨坊", "铁路博物馆"),
    "ko": ("항구", "옛 방앗간", "철도 박물관"),
}


def reading(draw: random.Random, language: Language, count: int) -> Passage:
    """A text with questions that share it."""
    names = draw.sample(_NAMES[language], 3)
    places = draw.sample(_PLACES[language], 3)
    values = {"a": names[0], "b": names[1], "p": places[0], "q": places[1], "n": draw.randint(3, 9)}
    text: Said = {
        "en": "On the first free Saturday of spring, <a> walked to <p> with a notebook and a pencil that was much "
        "too short. "
        "For <n> weeks the class had been writing about places nobody looks at, and <a> had put the task off again and "
        "again. <b> was there already, drawing the gate of <q> from memory. Neither of them said much. By noon they "
        "had "
        "filled six pages, and the wind had taken two of them.",
        "zh": "春天的第一个周六，<a>带着笔记本和一支很短的铅笔来到<p>。<n> 个星期以来，全班都在写没有人留意的地方，"
        "<a>却一再拖延。"
        "<b>早已在那里，凭记忆画着<q>的大门。两人都没有多说话。到了中午，他们写满了六页纸，其中两页被风吹走了。",
        "ko": "봄의 첫 토요일, <a>은 공책과 아주 짧은 연필을 들고 <p>에 갔다. <n>주 동안 반 아이들은 아무도 보지 "
        "않는 곳에 대해 글을 써 왔지만 "
        "<a>은 자꾸 미루기만 했다. <b>은 벌써 그곳에서 <q>의 문을 기억만으로 그리고 있었다. 두 사람은 별로 말이 "
        "없었다. 정오까지 여섯 쪽을 채웠고 두 쪽은 바람에 날아갔다.",
    }
    questions: dict[Language, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
        "en": (
            ("Where did <a> go on the Saturday?", "To <p>", ("To <q>", "To the school", "Home", "To the sea")),
            (
                "What was <b> doing?",
                "Drawing a gate",
                ("Writing a letter", "Waiting for a train", "Reading aloud", "Sleeping"),
            ),
            ("How many pages were left at noon?", "Four", ("Six", "Two", "Eight", "None")),
            ("The pencil is best described as", "short", ("new", "red", "broken", "borrowed")),
        ),
        "zh": (
            ("<a>周六去了哪里？", "<p>", ("<q>", "学校", "家里", "海边")),
            ("<b>正在做什么？", "画大门", ("写信", "等火车", "朗读", "睡觉")),
            ("到中午还剩几页纸？", "四页", ("六页", "两页", "八页", "没有")),
            ("文中的铅笔是怎样的？", "很短", ("很新", "红色", "断了", "借来的")),
        ),
        "ko": (
            ("<a>이 토요일에 간 곳은?", "<p>", ("<q>", "학교", "집", "바다")),
            ("<b>이 하고 있던 일은?", "문 그리기", ("편지 쓰기", "기차 기다리기", "소리 내어 읽기", "잠자기")),
            ("정오에 남은 쪽수는?", "네 쪽", ("여섯 쪽", "두 쪽", "여덟 쪽", "없음")),
            ("연필에 대한 설명으로 알맞은 것은?", "짧다", ("새것이다", "빨갛다", "부러졌다", "빌렸다")),
        ),
    }
    items = []
    for stem, right, wrong in questions[language][:count]:
        items.append(
            choice(
                draw, filled(stem, values), filled(right, values), [filled(distractor, values) for distractor in wrong]
            )
        )
    return Passage(filled(text[language], values), tuple(items))


def data(draw: random.Random, language: Language, count: int) -> Passage:
    """A table with questions that share it."""
    names = draw.sample(_NAMES[language], 4)
    values = draw.sample(range(11, 60), 4)
    head: dict[Language, tuple[str, str]] = {
        "en": ("Student", "Seedlings planted"), "zh": ("学生", "栽种的树苗/棵"), "ko": ("학생", "심은 묘목(그루)"),
    }  # fmt: skip
    most, least = names[values.index(max(values))], names[values.index(min(values))]
    questions: dict[Language, tuple[str, str, str]] = {
        "en": (
            "Who planted the most seedlings?", "Who planted the fewest seedlings?", "How many did <a> and <b> plant?",
        ),
        "zh": ("栽种树苗最多的学生是", "栽种树苗最少的学生是", "<a>和<b>一共栽种了多少棵？"),
        "ko": (
            "묘목을 가장 많이 심은 학생은?", "묘목을 가장 적게 심은 학생은?",
            "<a>와 <b>가 심은 묘목은 모두 몇 그루인가?",
        ),
    }  # fmt: skip
    other = next(name for name in _NAMES[language] if name not in names)
    total = values[0] + values[1]
    stem = filled(questions[language][2], {"a": names[0], "b": names[1]})
    items = (
        choice(draw, questions[language][0], most, [*(label for label in names if label != most), other]),
        choice(draw, questions[language][1], least, [*(label for label in names if label != least), other]),
        choice(draw, stem, total, [total + 2, total - 3, total + 5, total + 10]),
    )
    rows = ((head[language][0], *names), (head[language][1], *map(str, values)))
    return Passage("\n".join(" ".join(row) for row in rows), items[:count], rows)
