"""Text to HTML: formulas found, Markdown read, nothing lost, nothing hostile let through."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from livek12.report.markup import (
    MAX_CHARACTERS,
    Highlight,
    clean,
    excerpt,
    find_spans,
    render,
    render_answer,
    render_blocks,
)

ELEMENTS = {"p", "br", "span", "strong", "ol", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "pre", "code"}
ELEMENTS |= {"hr", "blockquote", "math", "wbr"}


class Page(HTMLParser):
    """What a browser's parser would see: elements, attributes, text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(str(html))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def formulas(text: str) -> list[str]:
    return [span.latex for span in find_spans(text) if not span.code]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("当 $x>0$ 时", ["x>0"]),
        ("当 $ x > 0 $ 时", ["x > 0"]),
        (r"\(a\)和\[b\]", ["a", "b"]),
        ("$$\na\n$$", ["a"]),
        ("$a$$b$", ["a", "b"]),
        (r"答案是\boxed{\frac{1}{2}}。", [r"\boxed{\frac{1}{2}}"]),
        (r"\begin{cases}a\\b\end{cases}", [r"\begin{cases}a\\b\end{cases}"]),
        (r"发生 \ce{H2O} 反应", [r"\ce{H2O}"]),
        ("It costs $5 and $6 in all.", []),
        ("between $5,000 to $6,000 a year", []),
        (r"it is \$5, or \$6", []),
        ("买了$3元和$5元", []),
        ("由 $2KMnO_4+5H_2C_2O_4$。再由 $2NaOH+H_2SO_4$ 得", ["2KMnO_4+5H_2C_2O_4", "2NaOH+H_2SO_4"]),
        ("costs $5, where $x$ is", ["x"]),
        ("a `$x$` b", []),
        ("```\n$x$\n```", []),
        ("a $ b\n\nc $ d", []),
        (r"得 \frac{1}{2}x=3，所以", [r"\frac{1}{2}x=3"]),
        (r"the point (0, -\frac{5}{3}), but not", [r"-\frac{5}{3}"]),
        (r"x = -\frac{1}{12}, which is not a choice", [r"x = -\frac{1}{12}"]),
        (r"<answer>\frac{\sqrt{66}}{6}</answer>", [r"\frac{\sqrt{66}}{6}"]),
        (r"State how \hat{x} acts on a wavefunction", [r"\hat{x}"]),
        ("no formula here, not even a_b", []),
        ("$and divide the area into smaller right angled triangles with sides$", []),
        ("$unclosed", []),
        (r"\(unclosed", []),
    ],
)
def test_formulas_are_found_and_money_and_code_are_not(text: str, expected: list[str]) -> None:
    assert formulas(text) == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("**结论：**所以", "<strong>结论：</strong>所以"),
        ("**답:** ④", "<strong>답:</strong>"),
        ("a * b * c and 5*3*2", "a * b * c and 5*3*2"),
        ("____和____", "____和____"),
        ("3. x\n5. y", '<li value="5">y</li>'),
        ("第一行\n第二行", "第一行<br>"),
        ("| a | b |\n|:-:|--:|\n| 1 | 2 |", '<td class="right">2</td>'),
        ("# 标题", '<p class="heading">标题</p>'),
        ("[x](javascript:alert(1)) ![y](http://example.org/z.png) <http://example.org>", "[x](javascript:alert(1))"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("```html\n<script>$x$</script>\n```", "<pre><code>&lt;script&gt;$x$&lt;/script&gt;"),
        (r"\textbf{加粗}", "<strong>加粗</strong>"),
        (r"\begin{tabular}{|c|c|}\hline 甲 & $x|y$\\ \hline 1 & 2\\ \end{tabular}", "<th>甲</th>"),
        ("a\u202eb\u2066c\x00", "a[U+202E]b[U+2066]c[U+0000]"),
        ("\ud800", "[U+D800]"),
        ("> > 引用", "<blockquote>"),
    ],
)
def test_markdown_is_read_as_people_write_it(text: str, part: str) -> None:
    assert part in render(text)


TABLE = "| $x$ | 1 |\n|---|---|\n| $y$ | 3 |"


@pytest.mark.parametrize(
    ("text", "cells", "behind"),
    [
        (f"{TABLE}\n用最小二乘法求得 $y$", 4, "<p>用最小二乘法"),
        (f"{TABLE}\nThen |a| is 3 | 4.", 4, "<p>Then |a| is 3 | 4.</p>"),
        (f"{TABLE}\n\nBelow.", 4, "<p>Below.</p>"),
        (f"{TABLE}\n**Below.**", 4, "<p><strong>Below."),
        (f"{TABLE}\n| $z$ \\| 2 | 4 |\nBelow.", 6, "<p>Below.</p>"),
        ("x | y\n---|---\n1 | 2\n| 3 | 4\nBelow \\| all.", 6, "<p>Below | all.</p>"),
        (f"{TABLE}\n| 1 | 2 | 3 |", 4, "<p>| 1 | 2 | 3 |</p>"),  # a cell that the head has not is not dropped
        (f"> {TABLE.replace(chr(10), chr(10) + '> ')}\n> Quoted.", 4, "<p>Quoted.</p>"),
        (f"- {TABLE.replace(chr(10), chr(10) + '  ')}\n  In the list.", 4, "In the list."),
        (f"```\n{TABLE}\nBelow.\n```", 0, "Below.\n</code>"),
    ],
)
def test_what_stands_behind_a_table_is_not_drawn_into_it(text: str, cells: int, behind: str) -> None:
    html = render(text)
    assert html.count("<th>") + html.count("<td>") == cells
    assert behind in html
    assert behind not in html.partition("</table>")[0] or cells == 0


def test_latex_damaged_by_a_json_reader_is_mended() -> None:
    assert "<mfrac>" in render("$\x0crac{1}{2}$")
    assert "menclose" not in render("$\x08oxed{1}$")
    assert "<math" in render("$\\left(\x0crac{1}{2}\right)$")


def test_a_formula_that_cannot_be_rendered_shows_its_source() -> None:
    html = render(r"so $\unknown{<b>}$ it is")
    assert r"<code class='tex'>$\unknown{&lt;b&gt;}$</code>" in html


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("a=b", ["a=b"]),
        (r"U(x_0)=\frac{6a}{x^4}-\frac{2b}{x^3}=\frac{b^4}{8a^3}>0", ["U(x0)", "=6ax4−2bx3", "=b48a3", ">0"]),
        (r"P(1 \le X=3<10,\ Y=2) \le a+b+c+d+e", ["P(1≤X=3<10,Y=2)", "≤a+b+c+d+e"]),
        (r"\left\{x \mid x=3,\ x>2,\ x<40\right\}", ["{x∣x=3,x>2,x<40}"]),
    ],
)
def test_a_long_formula_breaks_at_its_outermost_relations(source: str, parts: list[str]) -> None:
    html = render(f"${source}$")
    pieces = re.findall(r'<span class="formula[^"]*">(.*?)</span>', html)
    assert [re.sub(r"\s", "", Markup(piece).striptags()) for piece in pieces] == parts


def test_words_in_a_box_may_break_over_lines() -> None:
    html = render(r"\boxed{当且 $x>0$ 时 \frac{1}{2} <b>}")
    assert '<span class="box">当且 <span class="formula"><math' in html
    assert "<mfrac>" in html
    assert "&lt;b&gt;" in html
    assert '<span class="box">Let <span' in render(r"\boxed{Let $x$ be one}")
    assert "box" not in render(r"\boxed{\text{two three four words}}").replace("boxed", "")


def test_pictures_stand_at_their_marks_and_the_rest_after_the_text() -> None:
    html = render("如图 <image> 所示", [Markup("<img id=1>"), Markup("<img id=2>")])
    assert html.index("如图") < html.index("<img id=1>") < html.index("所示") < html.index("<img id=2>")
    assert "&lt;image&gt;" in render("no picture <image>")


def test_long_text_is_cut_and_says_so() -> None:
    html = render("字" * (MAX_CHARACTERS + 1234))
    assert html.count("字") == MAX_CHARACTERS
    assert "1,234 more characters" in html


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x^2+1", "<msup>"),
        (r"\frac{1}{2}", "<mfrac>"),
        ("$x$ 或 $y$", "或"),
        ("[1,2)", "[1,2)"),
        ("a_long_name", "a_long_name"),
        ("<b>", "&lt;b&gt;"),
        ("AC", "AC"),
    ],
)
def test_short_answers_are_read_as_formulas_where_they_are_some(text: str, part: str) -> None:
    assert part in render_answer(text)


HOSTILE = st.sampled_from([
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</details>", "</p>", "javascript:alert(1)", "&lt;",
    "$", "$$", r"\(", r"\)", r"\[", r"\]", r"\text{<script>}", "`", "```", "**", "| a |", "|---|", "\n", "\n\n", "- ",
    "> ", "# ", "1. ", "<image>", "\ue000", "\ue0010\ue002", "\u202e", "\x00", "\ud800", r"\begin{cases}", "{", "}",
    r"\end{cases}", r"\begin{tabular}{l}", r"\end{tabular}", "&", r"\\", "<!--", "-->", "<![CDATA[", "' onload='",
    '" style="', "[a](b)", "![a](b)", "a", "中", "한", " ", r"\frac{1}{2}", "<math>", "<style>", "<svg/onload=1>",
])  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(HOSTILE, max_size=40).map("".join))
def test_no_input_makes_elements_or_attributes_of_its_own(text: str) -> None:
    for html in (render(text), render_answer(text)):
        page = Page(html)
        assert {tag for tag in page.tags if not tag.startswith("m")} <= ELEMENTS
        assert not {name for name in page.attributes if name.startswith("on") or name in ("style", "href", "src", "id")}
        html.encode("utf-8")


WRITING = st.sampled_from(
    ["ab", "中文", "한글", "。", "，", "- ", "* ", "**", "|", "\n", "\n\n", "> ", " ", "$a$", "#", "\n|a|b|\n|-|-|\n|"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WRITING, max_size=40).map("".join))
def test_no_letter_is_lost(text: str) -> None:
    letters = re.compile(r"[\w]")
    assert letters.findall(Page(render(text)).text) == letters.findall(text)


def test_deep_nesting_is_shown_flat_and_whole() -> None:
    assert "> " * 60 + "text" in Page(render("> " * 60 + "text")).text


def test_clean_shows_what_would_hide() -> None:
    assert clean("a\u200f\u2069\x1b[31m") == "a[U+200F][U+2069][U+001B][31m"
    assert clean("a\r\nb\rc") == "a\nb\nc"


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("plain words", 20, "plain words"),
        ("plain words that go on and on", 11, "plain words …"),
        (r"so long is $x = \frac{1}{2}$, and more", 20, "so long is …"),
        (r"得 $\frac{1}{2}+\frac{3}{4}$。以上", 10, r"得 $\frac{1}{2}+\frac{3}{4}$ …"),
        (r"\frac{a}{b}+\sqrt{c}", 12, r"\frac{a}{b}+\sqrt{c} …"),
        ("$" + "x+" * 300 + "y$ more", 20, "$" + "x+" * 9 + "x …"),
    ],
)
def test_excerpts_end_beside_formulas(text: str, most: int, expected: str) -> None:
    assert excerpt(text, most) == expected


@given(st.text(alphabet="ab$\\{}frac ", max_size=200), st.integers(1, 40))
def test_excerpts_are_beginnings_and_bounded(text: str, most: int) -> None:
    shown = excerpt(text, most).removesuffix(" …")
    assert text.startswith(shown) and (shown == text or len(shown) <= 4 * most)


# --- highlights -----------------------------------------------------------------------------------------------------

ANSWER = (
    "The ball loses height.\nSo **energy is kept**, and $$v = \\sqrt{2 g h}$$ follows.\n\n- It is `14` m/s.\n"
    "1. <script>alert(1)</script>\n\n```\nx = 1\n```\n\n| a | b |\n|---|---|\n| c d | $e$ |\n"
)
QUOTES = {
    "energy is kept": ["energy is kept"],
    "**energy is kept**": ["energy is kept"],
    "The  ball\nloses": ["The ball loses"],
    "v=\\sqrt{2gh}": ["v=2gh"],
    "- It is": ["It is"],
    "<script>alert(1)</script>": ["<script>alert(1)</script>"],
    "| c d | $e$ |": ["c d", "e"],
    "kept**, and $$v": ["kept", ", and v=2gh"],
    "x = 1": [],
    "is not there": [],
    "": [],
}


@pytest.mark.parametrize("quote", QUOTES)
def test_a_quotation_is_highlighted_in_its_place(quote: str) -> None:
    html = "".join(render_blocks(ANSWER, highlights=[Highlight(quote, "full", "✓ <b>1</b>")]))
    marks = re.findall(r'<mark class="quoted full">(.*?)</mark>', html, re.S)
    assert [Markup(mark).striptags().replace("\u2062", "") for mark in marks] == QUOTES[quote]
    assert html.count("✓ &lt;b&gt;1") == (len(marks) > 0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(ANSWER)), st.integers(1, 60)), min_size=1, max_size=4))
def test_highlights_change_nothing_but_the_marks(places: list[tuple[int, int]]) -> None:
    highlights = [Highlight(ANSWER[start : start + size], "part", "½ 1") for start, size in places]
    html = "".join(render_blocks(ANSWER, highlights=highlights))
    assert re.sub(r'</?mark[^>]*>|<sup class="quoted-by[^>]*>[^<]*</sup>', "", html) == "".join(render_blocks(ANSWER))
    assert not set(html) & set("\ue000\ue001\ue002\ue003\ue004")
