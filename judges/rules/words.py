"""Words of closed classes: greater or less, left or right, rises or falls, oxidation or reduction.

Members between the same bars are synonyms, all others exclude each other. Only two whole texts of one class are
decided. Symbols of a question (R_1, a) are a class where they fill a blank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from livek12.core.patterns import late
from livek12.core.question_types import type_of
from livek12.judges.base import AnswerComparison, Decision, Outcome, accept, reject, undecided
from livek12.judges.rules.dates import compare_dates, compare_ordinals, compare_times
from livek12.judges.rules.notation import bare, to_latex

NAME = "words"
_CLASSES = """
大于 > \\gt | 小于 < \\lt | 等于 = 相等
大于等于 大于或等于 不小于 \\ge \\geq \\geqslant | 小于等于 小于或等于 不大于 \\le \\leq \\leqslant
偏大 | 偏小 | 不变 无影响 没有影响 无变化
增大 变大 增加 增多 变多 | 减小 变小 减少 变少 | 不变 保持不变 不改变
升高 上升 变高 | 降低 下降 变低 | 不变 保持不变 不改变
增强 变强 | 减弱 变弱 | 不变 保持不变 不改变
加快 变快 | 减慢 变慢 | 不变 保持不变 不改变
先增大后减小 先变大后变小 先增加后减少 | 先减小后增大 先变小后变大 先减少后增加\
 | 一直增大 一直变大 逐渐增大 | 一直减小 一直变小 逐渐减小 | 不变 保持不变
左 向左 水平向左 左侧 左边 | 右 向右 水平向右 右侧 右边
上 向上 竖直向上 上方 | 下 向下 竖直向下 下方
竖直向上 | 竖直向下 | 水平向左 | 水平向右
东 向东 | 南 向南 | 西 向西 | 北 向北
垂直纸面向里 垂直于纸面向里 垂直纸面向内 | 垂直纸面向外 垂直于纸面向外
顺时针 顺时针方向 沿顺时针方向 | 逆时针 逆时针方向 沿逆时针方向
正 正电 带正电 正电荷 | 负 负电 带负电 负电荷
正极 | 负极
阳极 | 阴极
正功 | 负功 | 不做功
正向 正反应方向 正向移动 正反应方向移动 向正反应方向 | 逆向 逆反应方向 逆向移动 逆反应方向移动 向逆反应方向 | 不移动
吸热 吸热反应 | 放热 放热反应
吸收热量 | 放出热量
氧化反应 | 还原反应
氧化剂 | 还原剂
氧化性 | 还原性
加成反应 加成 | 取代反应 取代 | 消去反应 消去
酸性 | 碱性 | 中性
显性 | 隐性
纯合子 纯合体 | 杂合子 杂合体
引力 吸引力 | 斥力 排斥力
超重 | 失重
实像 | 虚像
串联 | 并联
离子键 | 共价键 | 金属键
分子晶体 | 离子晶体 | 金属晶体 | 共价晶体 原子晶体
能 | 不能
可以 | 不可以
可能 | 不可能
会 | 不会
有 | 没有 无
相同 | 不同 不相同
单调递增 递增 增函数 | 单调递减 递减 减函数
奇函数 | 偶函数 | 非奇非偶函数 既不是奇函数也不是偶函数 | 既是奇函数又是偶函数
相交 | 相切 | 相离
锐角三角形 | 直角三角形 | 钝角三角形
充分不必要 充分不必要条件 充分非必要条件 充分而不必要条件 | \
必要不充分 必要不充分条件 必要非充分条件 必要而不充分条件 | \
充要 充要条件 充分必要条件 充分且必要条件 | \
既不充分也不必要 既不充分也不必要条件 既不充分又不必要条件 既非充分也非必要条件 既非充分又非必要条件
greater_than greater larger_than larger > | less_than less smaller_than smaller < | equal equal_to equals =
increase increases increased increasing | decrease decreases decreased decreasing | \
unchanged no_change remains_unchanged stays_the_same remains_the_same
rise rises rising | fall falls falling
left to_the_left leftward leftwards | right to_the_right rightward rightwards
up upward upwards | down downward downwards
clockwise | counterclockwise anticlockwise counter-clockwise anti-clockwise
into_the_page | out_of_the_page
positive | negative
endothermic | exothermic
oxidation | reduction
acidic | basic alkaline | neutral
dominant | recessive
in_series series | in_parallel parallel
attractive attraction | repulsive repulsion
odd odd_function | even even_function | neither neither_odd_nor_even
does_not_exist doesn't_exist dne 不存在 존재하지_않는다 존재하지_않음 | exists 存在 存在的 존재한다
converges convergent converge | diverges divergent diverge
possible | impossible
크다 더_크다 > | 작다 더_작다 < | 같다 =
증가 증가한다 증가함 증가합니다 커진다 | 감소 감소한다 감소함 감소합니다 작아진다 | \
일정 일정하다 변하지_않는다 변화_없음 불변
높아진다 상승 상승한다 | 낮아진다 하강 하강한다
왼쪽 | 오른쪽
위 위쪽 | 아래 아래쪽
시계_방향 시계방향 | 반시계_방향 반시계방향 시계_반대_방향
흡열 흡열_반응 | 발열 발열_반응
산화 산화_반응 | 환원 환원_반응
산성 | 염기성 | 중성
우성 | 열성
(+)극 양극 | (-)극 음극
가능 가능하다 | 불가능 불가능하다
있다 | 없다
monday mon 星期一 周一 礼拜一 월요일 | tuesday tue tues 星期二 周二 礼拜二 화요일 | \
wednesday wed 星期三 周三 礼拜三 수요일 | thursday thu thur thurs 星期四 周四 礼拜四 목요일 | \
friday fri 星期五 周五 礼拜五 금요일 | saturday sat 星期六 周六 礼拜六 토요일 | \
sunday sun 星期日 星期天 周日 周天 礼拜日 礼拜天 일요일
january jan 一月 | february feb 二月 | march mar 三月 | april apr 四月 | may 五月 | june jun 六月 | july jul 七月 | \
august aug 八月 | september sep sept 九月 | october oct 十月 | november nov 十一月 | december dec 十二月
spring 春 春天 春季 봄 | summer 夏 夏天 夏季 여름 | autumn fall 秋 秋天 秋季 가을 | winter 冬 冬天 冬季 겨울
red 红 红色 빨강 빨간색 | blue 蓝 蓝色 파랑 파란색 | green 绿 绿色 초록 초록색 녹색 | yellow 黄 黄色 노랑 노란색 | \
black 黑 黑色 검정 검은색 검정색 | white 白 白色 하양 흰색 하얀색 | orange 橙 橙色 주황 주황색 | \
purple violet 紫 紫色 보라 보라색 | brown 棕 棕色 갈색 | pink 粉 粉色 粉红 粉红色 분홍 분홍색 | grey gray 灰 灰色 회색
odd odd_number 奇 奇数 홀수 单数 | even even_number 偶 偶数 짝수 双数
prime prime_number 质数 素数 소수 | composite composite_number 合数 합성수
rational rational_number 有理数 유리수 | irrational irrational_number 无理数 무리수
north 北 向北 北方 正北 북쪽 북 | south 南 向南 南方 正南 남쪽 남 | east 东 向东 东方 正东 동쪽 동 | \
west 西 向西 西方 正西 서쪽 서 | northeast north-east ne 东北 北偏东 东北方 북동쪽 | \
northwest north-west nw 西北 西北方 북서쪽 | southeast south-east se 东南 东南方 남동쪽 | \
southwest south-west sw 西南 西南方 남서쪽
first_quadrant quadrant_i quadrant_1 i_quadrant 第一象限 第1象限 제1사분면 | \
second_quadrant quadrant_ii quadrant_2 第二象限 第2象限 제2사분면 | \
third_quadrant quadrant_iii quadrant_3 第三象限 第3象限 제3사분면 | \
fourth_quadrant quadrant_iv quadrant_4 第四象限 第4象限 제4사분면
甲 | 乙 | 丙 | 丁
갑 | 을 | 병
男 男生 boy boys male 남자 남학생 | 女 女生 girl girls female 여자 여학생
heads head 正面 앞면 | tails tail 反面 背面 뒷면
circle 圆 圆形 원 | ellipse 椭圆 타원 | parabola 抛物线 포물선 | hyperbola 双曲线 쌍곡선 | line straight_line 直线 직선
acute acute_triangle 锐角三角形 예각삼각형 | right right_triangle 直角三角形 직각삼각형 | \
obtuse obtuse_triangle 钝角三角形 둔각삼각형
parallel 平行 互相平行 평행 평행하다 | perpendicular 垂直 互相垂直 수직 수직이다
mean average 平均数 均值 평균 | median 中位数 중앙값 | mode 众数 최빈값
maximum 最大值 최댓값 | minimum 最小值 최솟값
solid 固体 固态 고체 | liquid 液体 液态 액체 | gas 气体 气态 기체
heavier 更重 | lighter 更轻
longer 更长 더_길다 | shorter 更短 더_짧다
faster 更快 더_빠르다 | slower 更慢 더_느리다
one-to-one injective 单射 | many-to-one
always 总是 一定 항상 | sometimes 有时 때때로 | never 从不 一定不 결코
convex 凸 볼록 | concave 凹 오목
linear | quadratic | cubic | exponential | logarithmic
triangle 三角形 삼각형 | quadrilateral 四边形 사각형 | pentagon 五边形 오각형 | hexagon 六边形 육각형 | \
heptagon 七边形 칠각형 | octagon 八边形 팔각형
parallelogram 平行四边形 평행사변형 | rhombus 菱形 마름모 | rectangle 矩形 长方形 직사각형 | square 正方形 정사각형 | \
trapezoid trapezium 梯形 사다리꼴
isosceles isosceles_triangle 等腰三角形 이등변삼각형 | equilateral equilateral_triangle 等边三角形 正三角形 정삼각형 | \
scalene scalene_triangle
cube 正方体 立方体 정육면체 | sphere 球 球体 구 | cone 圆锥 圆锥体 원뿔 | cylinder 圆柱 圆柱体 원기둥 | \
pyramid 棱锥 각뿔 | prism 棱柱 각기둥
"""


@cache
def members() -> Mapping[str, Mapping[int, int]]:
    """Classes and meanings, by number, of each word."""
    counts: dict[str, dict[int, int]] = {}
    for number, line in enumerate(_CLASSES.strip().splitlines()):
        for meaning, words in enumerate(line.split("|")):
            for word in words.split():
                counts.setdefault(_plain(word.replace("_", " ")), {})[number] = meaning
    return counts


_ENDINGS = late(r"(?:了|입니다|이다)$")
_SPACES = late(r"\\[,;:! ]|[\s\"'“”‘’「」()（）]")
MAX_CHARS = 40


def _plain(text: str) -> str:
    return _ENDINGS.sub("", _SPACES.sub("", to_latex(bare(text))).lower())


_BEFORE = late(
    r"^(?:(?:it|they|he|she|there|this|which)\s+)?(?:(?:is|are|was|were|will be)\s+)?(?:(?:on|in|to|at|towards?)\s+)?"
    r"(?:(?:an?|the)\s+)?|^(?:是|将?会|将|为|选|在|呈|属于|向着?|朝着?)",
    re.IGNORECASE,
)
_BEHIND = late(
    r"(?:\s+(?:integers?|numbers?|functions?|one|colou?r|direction|season|month|day))$"
    r"|(?:同学|方向|的数|的|数|函数)$|(?:\s?방향)?(?:으로|로)?(?:이다|입니다|이에요|예요)?$",
    re.IGNORECASE,
)


def _meanings(text: str) -> tuple[str, str]:
    """A word as written, and its core: "an odd integer", 是菱形, 오른쪽으로."""
    short = bare(text)
    return _plain(text), _plain(_BEHIND.sub("", _BEFORE.sub("", short), count=1))


_SYMBOL = late(r"([A-Za-z])_?\{?(\d?)\}?")


def _other_symbol(gold: str, answer: str) -> bool:
    """Checks for different letters, with or without index; i and j are one unit."""
    symbols = [_SYMBOL.fullmatch(to_latex(bare(text))) for text in (gold, answer)]
    if symbols[0] is None or symbols[1] is None:
        return False
    first, second = (symbol[1].lower().replace("j", "i") + symbol[2] for symbol in symbols if symbol)
    return first != second


def _in_classes(text: str) -> dict[int, int]:
    whole, short = (members().get(form, {}) for form in _meanings(text))
    return {**short, **whole}


_PAIRS = late(r"(?:([A-Za-z])(?i:\1))+")


def _compare_genotypes(gold: str, answer: str) -> Outcome | None:
    plain = [bare(text) for text in (gold, answer)]
    if not all(len(text) >= MIN_ALLELES and _PAIRS.fullmatch(text) for text in plain):
        return None
    pairs = [sorted("".join(sorted(text[at : at + 2])) for at in range(0, len(text), 2)) for text in plain]
    genes = [{pair.lower() for pair in of_one} for of_one in pairs]
    if genes[0] != genes[1] or any(len(pair_of) < len(of_one) for pair_of, of_one in zip(genes, pairs, strict=True)):
        return None
    return "accept" if pairs[0] == pairs[1] else "reject"


MIN_ALLELES = 4
"""Two letters may be a word, a segment or a product."""
_COMPARED = (
    (_compare_genotypes, "genotype"),
    (compare_times, "time of day"),
    (compare_ordinals, "place"),
    (compare_dates, "date"),
)
_SAID = {"accept": "the same", "reject": "another", "undecided": "perhaps another"}


class WordStage:
    """Decides two members of one class."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Accept, reject, or undecided where one is no member or classes disagree."""
        if max(len(comparison.gold), len(comparison.answer)) > MAX_CHARS:
            return undecided(NAME)
        for compare, what in _COMPARED:
            outcome = compare(comparison.gold, comparison.answer)
            if outcome is not None:
                return Decision(outcome, {"accept": 1.0, "reject": 0.0}.get(outcome), NAME, f"{_SAID[outcome]} {what}")
        if type_of(comparison.question_type).blanks and _other_symbol(comparison.gold, comparison.answer):
            return reject(NAME, "another symbol")
        gold = _in_classes(comparison.gold)
        answer = _in_classes(comparison.answer) if gold else {}
        agreements = {gold[number] == answer[number] for number in gold.keys() & answer.keys()}
        if len(agreements) != 1:
            return undecided(NAME)
        return accept(NAME, "the same of a class of words") if agreements == {True} else reject(NAME, "opposite words")
