"""Chinese in two scripts: a rule that is written in simplified letters also reads traditional ones (题 and 題)."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

_VARIANTS: Final = (
    "个個 两兩 为為 举舉 么麼 书書 义義 产產 从從 价價 优優 会會 体體 关關 内內 写寫 准準 几幾 划劃 "
    "则則 动動 区區 单單 历歷 压壓 参參 双雙 发發 变變 叙敘 号號 后後 听聽 启啟 员員 国國 图圖 场場 "
    "块塊 声聲 处處 备備 复複 学學 实實 对對 导導 将將 届屆 应應 开開 录錄 当當 忆憶 总總 择擇 据據 "
    "数數 断斷 无無 时時 显顯 机機 条條 极極 构構 标標 树樹 样樣 测測 满滿 点點 现現 画畫 确確 种種 "
    "积積 称稱 简簡 类類 系係 级級 线線 练練 细細 结結 绘繪 给給 续續 综綜 编編 联聯 节節 范範 补補 "
    "装裝 规規 观觀 见見 计計 订訂 认認 让讓 训訓 记記 讲講 论論 设設 证證 评評 识識 词詞 译譯 试試 "
    "诗詩 话話 该該 详詳 语語 误誤 说說 请請 读讀 课課 调調 谈談 质質 赏賞 转轉 轴軸 较較 输輸 达達 "
    "过過 运運 这這 进進 连連 适適 选選 释釋 鉴鑑 错錯 键鍵 长長 门門 问問 间間 阅閱 际際 难難 页頁 "
    "项項 须須 题題 验驗 与與 一壹 二贰貳 三叁參 四肆 五伍 六陆陸 七柒 八捌 九玖 十拾"
)
"""A simplified letter and the others for it, those of formal numerals too."""
_OTHERS: Final = {word[0]: word[1:] for word in _VARIANTS.split()}
_SIMPLIFIED: Final = {ord(letter): simple for simple, others in reversed(_OTHERS.items()) for letter in others}
_DIGITS: Final = "零一二三四五六七八九"
_TOKEN: Final = re.compile(r"\\.|[\[\]]|[一-鿿](?!-)", re.DOTALL)


def simplified(text: str) -> str:
    """The text in simplified letters, each at its place; only letters that rules use are known."""
    return text.translate(_SIMPLIFIED)


@cache
def in_both_scripts(pattern: str) -> str:
    """The pattern, reading its letters in traditional script and its numerals in formal letters too."""
    within = False
    pieces, end = [], 0
    for token in _TOKEN.finditer(pattern):
        letter = token[0]
        within = letter == "[" or (within and letter != "]")
        both = letter + _OTHERS.get(letter, "")
        pieces += [pattern[end : token.start()], both if within or both == letter else f"[{both}]"]
        end = token.end()
    return "".join(pieces) + pattern[end:]


def both_scripts(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiles a pattern for Chinese text in either script."""
    return re.compile(in_both_scripts(pattern), flags)


def chinese_number(numeral: str) -> int:
    """The value of a numeral up to 99: 十二, 二十, 參."""
    tens, ten, ones = simplified(numeral).replace("参", "三").rpartition("十")
    return 10 * (_DIGITS.find(tens or "一") if ten else 0) + max(0, _DIGITS.find(ones or "零"))
