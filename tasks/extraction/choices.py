"""Choices: option labels a response commits to, for one question or several sub-questions.

Claims are in words, boxes and tags; weaker ones (a concluding sentence, a judgement of every option, a line of labels
or of one quoted option) and stated values are a fallback. The last claim counts that is no weaker than those before and
no remark; one that offers several options, lists all or is denied is returned as text. Groups of forms are `run`
(labels) and `or` (an alternative), or `open` and `content` for a region. Bare letters in prose are none, nor those
behind a weak joint that begin a clause or option ("A, B is wrong").

`cleaned` text has answer tags as 〖…〗 and boxes as 〘…〙.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise

from livek12.core.patterns import late
from livek12.core.question_types import type_of
from livek12.core.records import Question
from livek12.core.text import CIRCLED
from livek12.judges.parts import per_question
from livek12.judges.rules.labels import label_sequence, labelled_option, read_labels
from livek12.judges.rules.text import normal_form
from livek12.tasks.extraction import remarks
from livek12.tasks.extraction.labelled import labelled_parts, tabled_values
from livek12.tasks.extraction.regions import (
    TextRegion,
    answer_tags,
    boxes,
    lists_options,
    outside_of,
    says_nothing,
    tail,
    without_stars,
)
from livek12.tasks.extraction.remarks import TURN, quoted, sentence_before
from livek12.tasks.extraction.values import NOTHING, Found, final_run, find_values
from livek12.tasks.extraction.words import classes, tokens

NOUN_ZH = "点球车物地处组班国市图表线角楼厂校队段端极板管瓶杯盒箱区层轨级同型族"
"""A letter before one of these names a thing, not an option."""
_PUNCTUATION = r"[,，、;；/·ㆍ・]"
CONJUNCTION = (
    r"(?:[&+∧]|以及|还有|[和与及跟과와및]|그리고|이?랑|하고"
    r"|(?i:and|plus|(?:as\swell\sas|along\swith|together\swith))\b)"
)
_STRONG = rf"(?>[^\S\n]?(?:{_PUNCTUATION}[^\S\n]?)?{CONJUNCTION}[^\S\n]?|[^\S\n]?、[^\S\n]?)"
_WEAK = rf"(?>[^\S\n]?{_PUNCTUATION}[^\S\n]?|[^\S\n]|\.)"
_JOINT = rf"(?>\s?{_PUNCTUATION}\s?(?:{CONJUNCTION}\s?)?|\s?{CONJUNCTION}\s?|[^\S\n]?)"
_NOUN = r"(?:(?:选项|第)\s?|(?i:options?|choices?|statements?)\s)?"
_OPEN = r"(?:[(（\[【〔『《〈]\s?)?"
_CLOSE = r"(?:\s?[)）\]】〕』》〉])?+"
_OWN_CLAUSE = (
    r"(?![.．]\s*[^\s.。]|\s?[:：]\s?(?i:wrong|incorrect|false|错|不)|\s?选?项?虽?正确但|\s?(?:选?项)?(?:是|均|都)?(?:错|不|有误)"
    r"|\s(?:is|was|does|fails|cannot|can['’]t|isn['’]t|doesn['’]t)\b)"
)
_ARROW = r"(?:→|⇒|⟶|-{1,2}>|=>|\$?\\(?:right|Right|long)\w{0,15}arrow|\$?\\to\b)\s?\$?[(（]?[A-J](?![A-Za-z])"
_NO_SYMBOL = rf"(?!\.[A-Z]\.|\+\+|\s?语言|\s?{_ARROW})(?![A-Za-z0-9'′])(?!\s?[=＝∥⊥<>^_])(?!\s?[{NOUN_ZH}])"
_LETTERS = rf"[A-J]{{1,10}}{_NO_SYMBOL}{_CLOSE}"
_LATIN = (
    rf"{_LETTERS}(?:(?:\s?选?项)?{_STRONG}{_NOUN}{_OPEN}{_LETTERS}|(?:{_WEAK}{_NOUN}{_OPEN}|[^\S\n]?[(（\[【〔『《〈]\s?){_LETTERS}{_OWN_CLAUSE}"
    rf"|\n[A-J](?=[.。)）]?(?:\n|\Z))){{0,9}}"
)
_CIRCLED = rf"[①-⑩](?:\s?번)?(?:[)）]?{_JOINT}[(（]?[①-⑩](?:\s?번)?){{0,9}}"
_JAMO_END = r"(?![ㄱ-ㅎ]|(?!이|은|는|가|을|를|만|도|와|과|로|임|예|의|뿐|입니)[가-힣])"
_JAMO = rf"[ㄱ-ㅎ]{_JAMO_END}(?:[)）]?{_JOINT}[(（]?[ㄱ-ㅎ]{_JAMO_END}){{0,9}}"
_JAMO_ROW = rf"[ㄱ-ㅎ]{{2,10}}{_JAMO_END}"
_SMALL = rf"(?<=[(（])[a-j](?:[)）]{_JOINT}[(（][a-j]){{0,9}}(?=[)）])"
LIST = rf"{_OPEN}(?:{_NOUN}{_LATIN}|(?:{_CIRCLED}|{_JAMO}|{_JAMO_ROW}|{_SMALL}){_CLOSE})"
_ONE_DIGIT = (
    r"(?:[(（]\s*[1-9]\s*[)）]|[1-9]\s*번|[1-9](?!\d|[./^:]\d|,\d{2}|\s*[-+*=^_/\\a-zA-Z%°]"
    r"|\s?(?:개|가지|명|배|점|년|월|시간|분|초|원|도|쌍|종류|회|권|마리|자리|차)|[個个種种次倍年月米元人条本對对]))"
)
DIGITS = rf"{_ONE_DIGIT}(?:(?>\s?{_PUNCTUATION}\s?(?:{CONJUNCTION}\s?)?|\s?{CONJUNCTION}\s?){_ONE_DIGIT}){{0,9}}"
_ANY_LABEL = r"(?:[A-J]{1,10}(?![A-Za-z0-9])|[①-⑩]|[ㄱ-ㅎ](?![가-힣]))"
_MORE_UNNAMED = late(
    r"(?i)[)）\]〗〙]?[^\S\n]?(?:选?项)?[^\S\n]?[,，、;；]?[^\S\n]?(?:(?:and\s)?etc\b|et\scetera\b|and\sso\s(?:on|forth)\b|among\sothers\b|\.{3}|…"
    r"|and\s(?:[a-z]{2,8}\s)?(?:more|others?)\b|and\s(?:all|some|any|most)?\s?(?:of\s)?the\s(?:others?|rest|last|first|second|third|fourth)\b"
    r"|等(?=\s?(?:[。.,，;；\n]|\Z|[选项几多]))|등(?=\s?(?:[.,\n]|\Z|이|입)))"
)
_LABEL_END = late(r"\s?(?:[)）\]]\s?)?(?:[.。,，;；!！)）\n이입]|\Z|[(（\[])")
_LABEL_STARTS = late(r"\s?(?:[.．:：、]\s?\S|[=＝∥⊥<>^_])")
_SIGNS = late(rf"\s?(?:{_PUNCTUATION}|{CONJUNCTION})\s?")
_COMMAS = late(r",(?:\s*,)+\s?")
_LIST_SIGN = late(r"(?<=[A-J])\.(?=[A-J])|\s*[ㆍ・]\s*")
_DROPPED = late(rf"[()（）\[\]【】〔〕『』《》〈〉]|{_NOUN}(?=[A-J](?![A-Za-z]))")
# Labels in running text, and behind them perhaps "or B".
_RUN = (
    rf"(?P<run>{LIST})"
    r"(?P<or>[,，]?\s*(?:或者?|还是|or\b|vs\b\.?|또는|혹은|아니면|이나(?=\s*[①-⑩])|至|到|[|–~～-](?=\s?[(（]?[A-J](?![A-Za-z])))"
    r"\s*(?:选项|option\s*)?\s*[(（]?\s*[A-J①-⑩])?"
)
_DIGIT = rf"(?P<run>{DIGITS})(?P<or>\s*(?:或者?|还是|or\b|또는)\s*[1-9①-⑩])?"
_SELECT_ZH = (
    r"(?<![不别勿误未错若单多排])(?<!不能)(?<!不可)(?<!不应)(?<!如果)(?<!假如)(?<!假设)(?<!要是)(?<!无法)(?<!难以)[选選]"
    r"(?:择|擇|出|取)?\s*(?:的是|项为|项是|项应为)?"
)
_ANSWER_ZH = r"(?:答案|答)\s*[】\]]?\s*(?:应该|应当|应|只能|显然|就|即)*\s*(?:是|为|选)?"
_IS_ZH = (
    r"(?:选项|结论|说法|判断|叙述|(?<!不)正确的(?:一项)?|符合题意的(?:一项)?|合适的|恰当的|成立的)\s*"
    r"(?:应该|应当|应|只能|只有|分别|就|即)*\s*(?:是|为|有)"
)
_RIGHT_ZH = (
    r"(?:正确|最终|最佳|合适|恰当|符合题意|所选)的?(?:选项|项|说法|结论|判断|叙述|选择)\s*(?=[:：])"
    r"|(?<![\u4e00-\u9fff])结论\s*(?=[:：])"
)
_OPTION_ZH = r"\s*[:：]?\s*(?:选项|第)?\s*"
_EN = (
    r"\b{}\s*(?:is|are|(?:would|should|must|will|might|may|could) be|:|：|=|[-–—](?=\s))+\s*"
    r"(?:therefore|thus|clearly|simply|indeed|exactly|definitely|certainly|just|then)?\s*[:：]?\s*(?:(?:the\s+)?(?:options?|choices?|letters?))?\s*[:：]?\s*"
)
_ANSWER_EN = _EN.format(r"(?:answers?|ans\b\.?)")
_CHOICE_EN = _EN.format("(?:my pick|choices?|options?|statements?|ones?|letters?)(?:\\sthat\\s(?:hold|apply))?")
_SOLUTION_EN = (
    r"\b(?:solution|conclusion|result|decision|verdict)\s*(?:is|:|：|=)\s*(?:(?:the\s+)?(?:correct\s+)?"
    r"(?:option|choice|answer)\s*(?:is\b)?[:：]?\s*|(?=[(（]?[A-J][)）]?[.。]?(?:\n|\Z)))"
)
_PICK_EN = r"\b(?:choose|pick|select|answer)\s+(?:(?:the\s+)?(?:option|choice|answer)\s+)?"
_KO = (
    rf"{remarks.ANSWER_KO}\s?[】\]]?\s*(?:은|는|이|:|：|=)*\s*"
    r"(?:분명히|바로|확실히|당연히)?\s*(?:선택지|보기)?\s*"
)
_CALLED_RIGHT_KO = r"(?:(?:이|가|만)\s*(?:가장\s*)?(?:정답|답|옳|맞|적절|알맞)(?!지)|[을를]\s?(?:선택|고른|택))"
_RIGHT_KO = r"\s*번?\s*(?:선택지\s?)?" + _CALLED_RIGHT_KO
_CALLED_RIGHT_ZH = r"(?:是|为)\s*(?:(?:唯一|本题)的?\s*)?(?:(?:正确|最佳|最终|合适)的?\s*(?:答案|选项)|(?<=唯一)正确的)"
_RIGHT_ZH_BEHIND = r"\s*(?:选项|项)?\s*(?:就(?=是))?" + _CALLED_RIGHT_ZH
_CALLED_RIGHT_EN = (
    r"(?:is|are)\s+(?:the\s+(?=answer\b)|(?:the\s+)?(?:correct|right|best|final|only)\s+)"
    r"(?:(?:correct|right|valid)\s+)?(?:answer|choice|option|one)s?\b"
)
_RIGHT_EN = r"(?:[:：]\s(?:(?!\b[A-J]\b)[^.\n]){1,80}?)?\s+" + _CALLED_RIGHT_EN
_NOW = (
    r"[,，.:：\s]*(?:应该?)?(?:是|选|为)?\s*(?i:(?:the\s+answer|it|that)?(?:\s*is|'s|\s+should\s+be|\s+must\s+be)?)\s*"
)
_TURNED = (
    r"\b(?:wait|actually|on second thoughts?)\b[^.\n]{0,30}?\b(?:it|that|answer)(?:'s|\s(?:is|should\sbe|must\sbe))\s"
    r"(?:actually\s)?(?:(?:option|choice)\s)?"
)
_REASON = r"\s*(?:[。.．,，:：]\s*|\s)(?i:因为|由于|理由|原因|because|since|왜냐)"
# Strength of a form: a weaker one replaces a stronger one only as a correction.
CORRECTED, MARKED, EXPLICIT, LOOSE = 7, 6, 5, 4
JUDGED, CONCLUDED, ONLY_LABELS, UNSURE = 3, 2, 1, 0
_REGION = late(r"(?P<open>[〖〘])(?P<content>[^〖〗〘〙]*)[〗〙]")
_CONCLUDING = rf"(?:{remarks.SO_ZH}|应|应该|本题|则)[,，]?\s*(?:本题)?\s*(?:应该?)?\s*"
_OPENING = (
    r"\A(?![^\n]{0,300}[(（]\s?[A-J]\s?[)）][^\n]{0,100}[(（])"
    r"(?=[^\n]{0,300}[a-z\u4e00-\u9fff\uac00-\ud7a3]{3})[^\n]{4,600}[(（]\s?"
)
FILLED = (
    late(_OPENING + r"(?P<run>[A-J]{1,8}|[①-⑤])(?P<or>(?!))?\s?[)）][。.．]?(?=\n|\Z)"),
    late(
        rf"(?:\A|{_OPENING}[)）][。.．]?\n)[(（]?(?P<run>[A-J])(?P<or>(?!))?[)）]?\s?[.．、:：]\s?[^\n]{{1,300}}\n"
        r"[【\[#\s]*(?i:解析|解释|分析|理由|说明|详解|解答|explanation|reason|해설|풀이|설명)"
    ),
)
"""A stem repeated with its bracket filled in ("错误的是（ D ）"), and one option alone before its explanation."""
_WRONG_ONE = (
    r"(?:(?:错误|不正确|有误|不符合题意|不成立|不恰当|不合理|不可能|不属于)的?(?:一项|选项|说法|叙述|结论)?\s*(?:应该?)?(?:是|为)"
    r"|\b(?i:statement|option|one|choice)\s(?:that|which)\sis\s(?:not\s(?:right|correct|true)|wrong|false|incorrect)\sis"
    r"|(?:틀린|않은|잘못된)\s*것은)\s*[:：]?\s*(?:选项)?\s*"
)
"""The wrong option as the answer, if the question asks for it."""
_ANNOUNCED = rf"(?:{_ANSWER_ZH}{_OPTION_ZH}|(?i:{_ANSWER_EN}|{_SOLUTION_EN})|{_KO}|#{{4}}\s?(?=[^\n]{{1,12}}(?:\n|\Z)))"
_CHOSEN = rf"(?:(?:{_SELECT_ZH}|{_IS_ZH}|{_RIGHT_ZH}){_OPTION_ZH}|(?i:{_CHOICE_EN})|{_PICK_EN})"
_CALLED_RIGHT = rf"(?:{_RIGHT_KO}|{_RIGHT_EN}|{_RIGHT_ZH_BEHIND})"
_ONLY = r"(?:只有\s*(?:选项|第)?\s*|\b(?i:only)\s+(?:(?i:option|choice|statement|answer)\s+)?)"
_HOLDS = r"(?:\s*(?:选项|项)?\s*(?:是|才)?(?:正确|对|符合|成立)|\s+(?:is|are|works|fits|match|satisf|holds))"
_SO_ZH = rf"{remarks.SO_ZH}[^。；;\n]{{0,40}}?"
_SUM_UP_ZH = rf"(?!故){remarks.SO_ZH}[^。；;\n故]{{0,40}}?"
_SO_EN = rf"(?i:{remarks.SO_EN})"
_RIGHT_BEHIND = (
    r"(?:\s*(?:选项|项)?\s*(?:[(（][^()（）\n]{0,20}[)）])?\s*(?:的(?:说法|叙述|描述|表述))?(?:都|均|才|是|为)*\s*最?"
    r"(?:正确|符合|合适|恰当|成立|满足|对)|[^。；;\n]{0,60}?(?:是|为)最(?:有可能|可能|合理|合适|接近|恰当|符合)"
    r"|\s+(?:is|are)\s+(?:the\s+)?(?:correct|right|true))"
)
WEAK = [
    late(pattern)
    for pattern in (
        rf"(?:{_SUM_UP_ZH}(?:选项)?|(?:^|[,，。;；\n故])(?=\s*[A-J①-⑩]{{1,8}}\s?(?:选?项\s?是|最?符合题意))|选项"
        rf"|\b(?i:options?|choices?|statements?)|(?:^|[.!?\n]|\b(?:{_SO_EN},?|(?i:both|only|in\sconclusion,?|(?:think|believe)(?:\sthat)?)))(?=\s*[(\[]?[A-J]\b))\s*{_RUN}{_RIGHT_BEHIND}",
        rf"{_SO_ZH}[是为]\s*(?:选项)?\s*[:：]?\s*{_RUN}\s*(?:选项|项)?\s*(?:$|[。.．:：,，(（])",
        rf"(?:对应(?:的)?(?:是|着|于)?\s*(?:选项|答案)|倾向于?(?:选择?)?(?:选项)?"
        rf"|\b(?:(?:which|that|this)\s+is|match(?:es)?|corresponds? to)\s+(?:the\s+)?(?i:option|choice))\s*{_RUN}",
        rf"(?:\b(?:{_SO_EN}|(?i:it'?s|it\s+is|it\s+must\s+be|go(?:ing)?\s+with))[,:]?\s+(?i:option|choice)?"
        rf"|따라서[^.\n]{{0,20}}?)\s*{_RUN}\s*(?:번)?\s*(?:이다|입니다|이므로)?\s*(?:[.!]\s|[.!]?$)",
        rf"(?i:in\sconclusion|{_SO_EN}|answer\s?:)(?=[,\s])[^\n(\[]{{4,240}}?\s(?=[(\[]){_RUN}(?:\s[^\n()\[\]]{{1,80}})?[.]?\s*$",
    )
]
_TAIL_CHARS = 30_000
_BOX_CHARS = 400
_LIST_GAP = late(r"[$\s*.。,，、;；]*(?:[-•]|[(（]?\d{1,2}[.．、)）])?[$\s*]*")
_MARKUP = late(
    r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|boldsymbol|bm|rm|bf|displaystyle|quad|qquad|left|right)(?![a-zA-Z])"
    r"|\\[,;:! ()\[\]]|[{}$*`~\"“”「」]"
)
_JOINED_LABEL = late(r"\b((?i:options?|choices?|answers?))(?:\\?_){1,3}([A-J](?![A-Za-z0-9]))_{0,3}")
_BULLET = late(r"(?:\n[^\S\n]{0,8}[-•+]\s|(?:\n|\A)[^\S\n]{0,8}[➡👉✅✔→⇒]\ufe0f?\s?)(?=[(（]?[A-J](?![A-Za-z]))")
_QUOTED_OPTION = late(r"['‘’]([A-J①-⑩](?:번)?|[1-9]번?)['‘’]")
_NARROW = str.maketrans({chr(ord("Ａ") + index): chr(ord("A") + index) for index in range(26)})
Labels = frozenset[str]
_LABELS = (
    r"(?P<run>[A-J](?:(?:(?>[^\S\n]?(?:[、/和与及]|and\b)?[^\S\n]?)[A-J](?![a-z])){0,9}"
    r"|(?:(?>[^\S\n]?[,，][^\S\n]?(?:and\s)?)[A-J](?![a-z])){1,9})(?![A-Za-z0-9'′])"
    r"|[①-⑩](?:(?>[^\S\n]?[,，、와과]?[^\S\n]?)[①-⑩]){0,9}|[1-9](?=\s?번))"
)
_NAMED_RUN = late(rf"(?<![A-Za-z0-9\\、]){_LABELS}")
_VERDICT = late(r"[\s.．、:：)）\]】〗〙]*[^.。!！?？\n；;,，]*+[,，]?")
_TRUE = late(r"(?i)[:：]\s?true")
_VERDICT_CHARS, _BESIDE_CHARS, _ADJACENT_CHARS = 60, 12, 16
_SHARED_CHARS, _BEFORE_CHARS, _ALSO_CHARS, _BELIEVED_CHARS = 160, 24, 50, 4
NO_LABELS: Labels = frozenset()
_BEFORE_TEXT = late(r"[\s.．、:：,，()（）〗〙]*")
_ASKED_WRONG = (
    r"错误|不正确|不符|不属于|不可能|不能|不合理|不合适|不恰当|不是|不包括|不认同|为假|不宜|不成立|不一定|不需要|不会|有误|不当|incorrect"
    r"|\bnot\b|n['’]t\b|false|except|wrong|least|untrue|않|틀린|없는|아닌|잘못"
)
_MAY_ASK_WRONG = late(_ASKED_WRONG, re.IGNORECASE)
_ASKS_WRONG = late(
    r"(?i)(?:错误|不正确|不符合?|不属于|不可能|不能|不合理|不合适|不恰当|不是|不包括|不认同|为假|不宜|不成立|不一定|有误|不当)"
    r"[^。？?，,；;\n]{0,16}(?:的(?:一项|一组|选项|说法|叙述)?\s?(?:是|有|为)|[(（]\s*[)）])"
    r"|\b(?:which|what)\b[^.?\n]{0,120}\b(?:not|false|incorrect|wrong|except|least|untrue)\b|\b(?-i:EXCEPT|NOT|INCORRECT|FALSE)\b"
    r"|哪(?:一?[项个句组]|些)[^。？?\n]{0,30}(?:错误|不正确|不符合?|不属于|不是)|(?:않|틀린|없는|아닌|잘못)[^.?\n]{0,12}것"
)
QUOTED_BEHIND = 20
_QUOTED_CHARS = 80
_OF_WRONG = late(
    r"(?i)\b(?:incorrect|wrong|false|untrue)\s(?:option|statement|choice|answer|one)s?\s(?:is|are)\s[^.\n]{0,5}$|(?:错误|不正确|不符|不成立|不可能|不一定|不属于|不恰当|不合理"
    r"|incorrect|wrong|false|not (?:right|correct|true)|틀린|않은|잘못된)[^。.．\n；;，,]{0,5}$"
)
_AMONG = late(
    r"\s?(?:选项|项)?(?:以外|之外|除外)|\s?번?\s?(?:이외|외에)|\s?(?:번\s?)?(?:중|가운데)|\s?(?:选项|项)?(?:之间|之中|中(?![点线位心]))"
    r"|[^。.！!？?\n]{0,6}[？?]|\s*(?:呢|吗)"
)
"""An option that is asked for, or one of several."""
_OR_ANOTHER = late(
    r"[\s,，;；(（*]{0,4}(?:(?i:or|alternatively|else|otherwise|possibly|maybe|perhaps)\b|或者?|也可能是?|또는|혹은)[:：]?\s?"
    r"(?:选项|(?i:option)\s)?[(（]?[A-J](?![A-Za-z])"
    r"|\s?(?:[(]for|when|unless|if|only\sif|with\sprobability|in\sthe\s(?:first|second|other|latter|former))\s"
)
"""Another option offered right behind one, or a condition on it."""
_ARTICLE = late(r"\s+(?!(?:and|or|because|since|as|is|for|with|which|due|so|given|from|by)\b)[a-z]{2,}")
_OF_TRUTH = late(r"(?i)正确|错误|成立|说法|叙述|[^应]对$|\b(?:correct|right|true|statement)s?\b|옳|맞")
_OR = late(r"或者?|\bor\b|또는")
_STEM_CHARS = 6
_REFUSAL_CHARS = 28
_OPTIONS = late(
    r"(?i)[(（]?A[)）.．:：、]\s?(?![A-J](?:[,，、.。\s]|\Z))[^\n]{1,200}?[ ,，;；]"
    r"(?:and\s|(?:option|choice)\s)?[(（]?B[)）.．:：、]\s?\S"
    r"|[(（]?A[)）.．:：、]\s?[^\n]{1,300}\n(?:option\s|choice\s|选项\s?)?[(（]?B[)）.．:：、]\s?[^\n]{1,300}\n(?:option\s|choice\s|选项\s?)?[(（]?C[)）.．:：、]"
)
"""The options listed from here on, each with its text ("A) 3, B) 5"): they are listed, not chosen."""
OPTION_LINE = late(r"\s*[(（]?([A-J])(?:[)）]\s|[)）]?\s*(?:[.．:：]|、(?!\s*[A-J])))\s*\S[^\n]*(?:\n|$)")
_OPTION_LINES = late(rf"(?:{OPTION_LINE.pattern.replace('([A-J])', '[A-J]')}){{1,11}}")
_NOT_THOUGHT = late(
    r"(?i)(?:(?:\bnot|n['’]t)\s(?:really\s)?(?:think|believe|say|agree)|\bdoubt\b|\bno\sway\b|不(?:认为|觉得|相信|同意))[^.,，。；;\n]{0,20}\Z"
)
_JUDGED_CHARS = 4_000
_CIRCLED_OPTION = late(r"[①-⑩]\s*[^\s①-⑩][^①-⑩]{0,200}")
_QUOTED_LABEL = late(r"\s*[(（]?[A-J1-9①-⑩](?:\s?번)?[)）]?")
_NUMBERED_OPTION = late(r"([1-9])(?:\s?번\s?(?:[.．:：,，)）]|[-–—])|[.．)）])\s?\S[^\n]*")


def written_plainly(run: str) -> str:
    """A list with commas, without brackets, where labels are unreadable as written."""
    run = _LIST_SIGN.sub(", ", run)
    if read_labels(run) is not None:
        return run
    plain = _COMMAS.sub(", ", _SIGNS.sub(", ", _DROPPED.sub("", run))).strip(" ,")
    return plain if read_labels(plain) is not None else run


def shared(text: str, start: int, end: int, labels: Labels, wrong: bool | None) -> bool:
    """Checks for words that add options to a run, or call another right, in this sentence or the next."""
    if _MORE_UNNAMED.match(text, end):
        return True
    for run in _NAMED_RUN.finditer(text, max(0, start - _BEFORE_CHARS), start):
        gap = text[run.end() : start]
        if classes(gap) & {"also", "hedge"} and remarks.hardly_more(gap, _BELIEVED_CHARS):
            return True
    spans = remarks.sentences_behind(text[: end + _SHARED_CHARS], end)[:2]
    runs = [(run, number, span) for number, span in enumerate(spans) for run in _NAMED_RUN.finditer(text, *span)]
    letters = any(map(str.isalpha, labels))
    read = ((read_labels(entry[0]["run"]) or labels, entry) for entry in runs)
    others = [entry for named, entry in read if not named <= labels and any(map(str.isalpha, named)) is letters]
    return any(
        _adds(text, run, text[slice(*span)], text[end : run.start()], number, wrong) for run, number, span in others
    )


def _adds(text: str, run: re.Match[str], sentence: str, gap: str, number: int, wrong: bool | None) -> bool:
    kinds = classes(sentence)
    if kinds & {"deny", "neglect", "rest"} or _LABEL_STARTS.match(text, run.end()):
        return False
    if len(gap) <= _BEFORE_CHARS and remarks.hardly_more(gap, _BELIEVED_CHARS) and _LABEL_END.match(text, run.end()):
        return number == 0
    called = {"also"} if wrong is None or number else {"also", "right"}
    near = len(sentence) <= _ALSO_CHARS and (number == 0 or len(gap) <= _BEFORE_CHARS)
    return not wrong and near and not kinds.isdisjoint(called)


@dataclass(frozen=True)
class ClaimForm:
    """A commitment to labels: strength, possible beginnings or a fast necessary condition."""

    strength: int
    pattern: re.Pattern[str]
    begins: re.Pattern[str] | None = None
    needs: re.Pattern[str] | None = None

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Matches in a cleaned text, in order."""
        if self.begins is None:
            yield from () if self.needs and not self.needs.search(text) else self.pattern.finditer(text)
            return
        end = 0
        for place in self.begins.finditer(text):
            if place.start() >= end and (match := self.pattern.match(text, place.start())):
                yield match
                end = match.end()


def _form(strength: int, form: str, words: str = "", needs: str = "") -> ClaimForm:
    """A form that begins with a word in any case; literal first letters are fast."""
    firsts = [(word, {word[0], word[0].upper(), *("ſ" if word[0] == "s" else "")}) for word in words.split()]
    begins = "|".join(f"{first}(?=(?i:{word[1:]}))" for word, signs in firsts for first in sorted(signs))
    return ClaimForm(strength, late(form), late(begins) if begins else None, late(needs) if needs else None)


_ANNOUNCING = "答 ans solution conclusion result decision verdict 정답 답 최종 ####"
_CHOOSING = (
    "选 選 结论 说法 判断 叙述 正确 符合题意 合适 恰当 成立 最终 最佳 所选 choice option statement one letter my\\spick"
    " choose pick select answer"
)
_WRONGLY = "错误 不正确 有误 不符合 不成立 不恰当 不合理 不可能 不属于 statement option one choice 틀린 않은 잘못된"
_RETRACTING = (
    r"no oh hmm ah wait sorry correction scratch actually on\ssecond 不 错了 说错 写错 更正 订正 改正 修正 아니 정정"
)
FORMS = [
    ClaimForm(MARKED, _REGION),
    _form(EXPLICIT, _CONCLUDING + _SELECT_ZH + _OPTION_ZH + _RUN, needs="[选選]"),
    _form(EXPLICIT, _ANNOUNCED + _RUN, _ANNOUNCING),
    _form(LOOSE, _CHOSEN + _RUN, _CHOOSING),
    _form(LOOSE, _RUN + _CALLED_RIGHT, needs=f"{_CALLED_RIGHT_KO}|{_CALLED_RIGHT_EN}|{_CALLED_RIGHT_ZH}"),
    _form(LOOSE, _WRONG_ONE + _RUN, _WRONGLY),
    _form(LOOSE, _ONLY + _RUN + _HOLDS, "只有 only"),
    _form(LOOSE, r"\A\s*" + _RUN + _REASON),
    *(ClaimForm(LOOSE, pattern) for pattern in FILLED),
    _form(CORRECTED, f"(?i:{remarks.RETRACTION}{_NOW}|{_TURNED})" + _RUN, _RETRACTING),
]
DIGIT_FORMS = [
    _form(EXPLICIT, _ANNOUNCED + _DIGIT, _ANNOUNCING),
    _form(LOOSE, _DIGIT + _RIGHT_KO, needs="답|옳|맞|적절|알맞|선택|고른|택"),
    _form(LOOSE, r"(?<!않은 )(?:옳은|맞는|알맞은|적절한|바른)\s*것(?:은|만을?)\s*" + _RUN, needs="것"),
]


def cleaned_text(text: str, several: bool) -> str:
    """The end of the text without mark-up, boxes and answer tags marked."""
    tags = answer_tags(text)
    outside = outside_of(tags, boxes(text))
    listed = final_run(text, outside, _LIST_GAP) if several else []
    run = listed if len({box.content for box in listed}) == len(listed) > 1 else final_run(text, outside)
    if len(run) > 1 and all(read_labels(box.content) for box in run):
        together = "".join((", " if run is listed else text[a.end : b.start]) + b.content for a, b in pairwise(run))
        outside[-len(run) :] = [TextRegion(run[0].start, run[-1].end, run[0].content + " " + together)]
    pieces: list[str] = []
    tagged = {tag.start for tag in tags}
    position = 0
    for region in sorted([*tags, *outside], key=lambda region: region.start):
        inner = boxes(region.content)
        content = (inner[-1].content if inner else region.content)[:_BOX_CHARS].replace("\n", " ")
        pieces += [text[position : region.start], f"〖{content}〗" if region.start in tagged else f"〘{content}〙"]
        position = max(position, region.end)
    pieces.append(text[position:])
    joined = "".join(pieces)[-_TAIL_CHARS:]
    if "_" in joined:
        joined = _JOINED_LABEL.sub(lambda match: f"{match[1]} {match[2]}", joined)
    plain = _BULLET.sub("\n", without_markup(without_stars(joined)).translate(_NARROW))
    plain = tail(_QUOTED_OPTION.sub(lambda match: match[1], plain))
    return "\n".join(" ".join(line.split()) for line in plain.splitlines() if not line.isspace() and line)


def without_markup(text: str) -> str:
    """Removes font and space commands, braces, dollars, stars, quotes."""
    return _MARKUP.sub("", text)


@dataclass(frozen=True)
class LabelVerdict:
    """A judgement of options: right or wrong; `as_answer`: not only as a statement."""

    start: int
    end: int
    labels: Labels
    right: bool
    as_answer: bool


def label_verdicts(text: str, start: int = 0) -> list[LabelVerdict]:
    """Judgements of options from `start`, in order."""
    runs = [run for run in _NAMED_RUN.finditer(text, start) if read_labels(run["run"])]
    ends = [run.start() for run in runs[1:]] + [len(text)]
    verdicts = (_verdict_behind(text, run, end) or _left_out(text, run) for run, end in zip(runs, ends, strict=False))
    return [verdict for verdict in verdicts if verdict is not None]


def _verdict_behind(text: str, run: re.Match[str], until: int) -> LabelVerdict | None:
    clause = _VERDICT.findall(text[run.end() : min(until, run.end() + _VERDICT_CHARS)])[0]
    words = tokens(clause)
    kinds = frozenset[str]().union(*(kind for *_, kind in words))
    sign = clause.strip(" )）]】")[:1] or "?"
    wrong = remarks.denies(words) or sign in "×✗✘❌"
    judges = wrong or "right" in kinds or sign in "√✓✔✅"
    if not judges or "rest" in kinds or _TRUE.search(clause) or not remarks.hardly_more(clause, _BESIDE_CHARS):
        return None
    as_answer = "answer" in kinds or any("deny" in kind and "adjective" not in kind for *_, kind in words)
    end = run.end() + len(clause.rstrip(" .。)）"))
    return LabelVerdict(run.start(), end, read_labels(run["run"]) or NO_LABELS, not wrong, as_answer)


def _left_out(text: str, run: re.Match[str]) -> LabelVerdict | None:
    before = text[max(0, run.start() - _ADJACENT_CHARS) : run.start()]
    for _, end, kinds in tokens(before)[-1:]:
        if "deny" in kinds and "adjective" not in kinds and not before[end:].strip(" (（"):
            return LabelVerdict(run.start(), run.end(), read_labels(run["run"]) or NO_LABELS, False, True)
    return None


@dataclass(frozen=True)
class Asked:
    """The options of a question.

    Attributes:
        known: valid labels; empty for all (Korean options in the question's text).
        several: several labels are allowed.
    """

    known: Labels
    several: bool
    question: Question

    @staticmethod
    @per_question
    def of(question: Question) -> Asked:
        """Reads a question, not its key."""
        offered = frozenset(label for option in question.options for label in read_labels(option.label) or ())
        offered = offered or (frozenset() if question.language == "ko" else frozenset("ABCDEFGHIJ"))
        return Asked(offered, type_of(question.question_type).several, question)

    @cached_property
    def wrong(self) -> bool | None:
        """Checks whether the wrong option is asked for; None if unclear."""
        text = self.question.question
        unclear = not text.strip() or _MAY_ASK_WRONG.search(text)
        return bool(_ASKS_WRONG.search(text)) or (None if unclear else False)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Option texts by label, without mark-up."""
        return {option.label: " ".join(without_markup(option.text).split()) for option in self.question.options}

    @property
    def digits(self) -> bool:
        """Checks for numeric labels."""
        return not self.known or any(label.isdigit() for label in self.known)

    def has(self, labels: Labels) -> bool:
        """Checks for options of the question, where it names them."""
        return not self.known or labels <= self.known

    def printed_until(self, cleaned: str, claim: Claim) -> int:
        """The end of a claim and its option's text."""
        text = self.texts.get(next(iter(claim.labels)), "") if len(claim.labels) == 1 else ""
        begin = _BEFORE_TEXT.match(cleaned, claim.end)
        return (
            begin.end() + len(text)
            if text and begin and cleaned.lower().startswith(text.lower(), begin.end())
            else claim.end
        )


@dataclass(frozen=True)
class Claim:
    """A commitment to labels, its strength and words; no labels for no option."""

    start: int
    end: int
    strength: int
    said: str
    method: str
    labels: Labels


def marked_claims(cleaned: str, offer: Asked) -> list[Claim]:
    """Claims in words, boxes and tags."""
    forms = (*FORMS, *(DIGIT_FORMS if offer.digits else ()))
    claims = (_claim(cleaned, match, form.strength, offer) for form in forms for match in form.matches(cleaned))
    return [claim for claim in claims if claim is not None and offer.has(claim.labels)]


def _claim(cleaned: str, match: re.Match[str], strength: int, offer: Asked) -> Claim | None:
    if "content" in match.groupdict():
        return _region(cleaned, match, strength)
    wording = written_plainly(match["run"]) + (match["or"] or "")
    labels = _labels_in_prose(cleaned, match, offer)
    if labels is None:
        return None
    listed = _OPTION_LINES.match(cleaned, match.start("run")) if labels else None
    lines = OPTION_LINE.findall(listed[0]) if listed else []
    if offer.several:
        wording = ", ".join(lines) if 1 < len(lines) == len(set(lines)) else wording
    elif (len(labels) > 1 and not wording[1::2].strip(" ")) or (lines[1:] and lines == sorted(set(lines))):
        labels = NO_LABELS
    if not labels:
        wording = quoted(cleaned[match.start() : match.end() + QUOTED_BEHIND])
    return Claim(match.start(), match.end(), strength, wording.strip(), "phrase", labels)


def _region(cleaned: str, match: re.Match[str], strength: int) -> Claim | None:
    """A box or tag of labels."""
    wording, method = match["content"], "answer_tag" if match["open"] == "〖" else "boxed"
    offered = _OR.split(wording)
    labels = NO_LABELS if offered[1:] and all(map(read_labels, offered)) else read_labels(wording)
    if labels is None or remarks.supposed(cleaned, match.start(), match.end()):
        return None
    return Claim(match.start(), match.end(), strength, wording.strip(), method, labels)


def _labels_in_prose(cleaned: str, match: re.Match[str], offer: Asked) -> Labels | None:
    start = match.start("run")
    before = cleaned[max(0, start - _REFUSAL_CHARS) : start]
    filled = match.re.pattern in [form.pattern for form in FILLED] and _repeats(before, offer.question.question)
    wrong_one = not filled and _OF_WRONG.search(before) is not None
    if wrong_one and not offer.wrong:
        return None
    if match["run"].strip() == "A" and _ARTICLE.match(cleaned, start + len(match["run"].rstrip())):
        return None
    if _AMONG.match(cleaned, match.end()):
        return None
    plain = not (wrong_one or filled)
    if plain and (remarks.supposed(cleaned, match.start(), match.end()) or remarks.refused(cleaned, start)):
        return None
    behind = cleaned[match.end("run") :][:_QUOTED_CHARS].lstrip(" ().:").lower()
    is_printed = any(behind.startswith(option.lower()) for option in offer.texts.values() if option)
    until = next((run.start() for run in _NAMED_RUN.finditer(cleaned, match.end("run"))), len(cleaned))
    called_wrong = not is_printed and remarks.called_wrong(cleaned[:until], match.end("run"))
    if plain and (called_wrong or remarks.false_lead(cleaned, match.start(), start)):
        return NO_LABELS
    if _OR_ANOTHER.match(cleaned, match.end()):
        return NO_LABELS
    labels = read_labels(written_plainly(match["run"]))
    if len(labels or ()) < 2 and _OPTIONS.match(cleaned, start):
        return None
    if offer.wrong and not wrong_one and _of_truth(cleaned, match):
        return NO_LABELS
    goes_on = not filled and shared(cleaned, start, match.end("run"), labels or NO_LABELS, offer.wrong)
    return NO_LABELS if match["or"] or goes_on else labels


def _repeats(before: str, question: str) -> bool:
    """Checks for the end of the question's stem before a bracket, if both are known."""
    stem = "".join(filter(str.isalnum, before))[-_STEM_CHARS:]
    return not (stem and question) or stem in "".join(filter(str.isalnum, question))


def _of_truth(cleaned: str, match: re.Match[str]) -> bool:
    words = cleaned[match.start() : match.start("run")] + " " + cleaned[match.end("run") : match.end()]
    return _OF_TRUTH.search(words) is not None


def plain_claims(cleaned: str, offer: Asked) -> list[Claim]:
    """Claims of conclusions, judgements and label lines."""
    lines = [line for line in map(str.strip, cleaned.splitlines()) if line]
    return [*_concluded(cleaned, lines, offer), *_judged(cleaned, offer), *_alone(cleaned, lines, offer)]


def _concluded(cleaned: str, lines: list[str], offer: Asked) -> list[Claim]:
    for text in dict.fromkeys("\n".join(ending) for ending in (lines[-1:], lines[-2:], lines[:1])):
        at = max(0, cleaned.find(text))
        claims = (_conclusion(text, match, at, offer) for pattern in WEAK for match in pattern.finditer(text))
        if fitting := [claim for claim in claims if claim is not None and offer.has(claim.labels)]:
            return fitting
    return []


def _conclusion(text: str, match: re.Match[str], at: int, offer: Asked) -> Claim | None:
    may_be_wrong = offer.wrong is not False and not offer.several
    plain = may_be_wrong and not match["or"] and not (offer.wrong and _of_truth(text, match))
    labels = read_labels(written_plainly(match["run"])) if plain else _labels_in_prose(text, match, offer)
    if labels is None or _NOT_THOUGHT.search(text[: match.start("run")]):
        return None
    wording = written_plainly(match["run"]).strip()
    if not labels:
        wording = quoted(text[match.start() : match.end() + QUOTED_BEHIND])
    return Claim(at + match.start(), at + match.end(), CONCLUDED, wording, "conclusion", labels)


def _judged(cleaned: str, offer: Asked) -> list[Claim]:
    ending = cleaned[-_JUDGED_CHARS:]
    verdicts = label_verdicts(ending)
    judged: dict[str, set[bool]] = {}
    for verdict in verdicts:
        for label in verdict.labels:
            judged.setdefault(label, set()).add(verdict.right)
    options = offer.known if offer.known and offer.known < frozenset("ABCDEFGHIJ") else set("ABCD")
    if set(judged) != options or any(len(values) > 1 for values in judged.values()):
        return []
    chosen = _odd_ones(judged, offer)
    quote = quoted("；".join(ending[verdict.start : verdict.end] for verdict in verdicts))
    end = len(cleaned) - len(ending) + verdicts[-1].end
    strength, wording = (JUDGED, ", ".join(sorted(chosen))) if chosen else (UNSURE, quote)
    return [Claim(0, end, strength, wording, "conclusion", chosen)]


def _odd_ones(judged: dict[str, set[bool]], offer: Asked) -> Labels:
    right = frozenset(label for label, values in judged.items() if values == {True})
    wrong = frozenset(judged) - right
    sides = [wrong] if offer.wrong else [right] if offer.several or offer.wrong is False else [right, wrong]
    return next((side for side in sides if offer.several or len(side) == 1), NO_LABELS)


def _alone(cleaned: str, lines: list[str], offer: Asked) -> list[Claim]:
    def claim(wording: str, labels: Labels, line: str) -> list[Claim]:
        start = max(0, cleaned.find(line))
        label = _QUOTED_LABEL.match(cleaned, start) if len(labels) == 1 else None
        end = label.end() if label else start + len(wording)
        return [Claim(start, end, ONLY_LABELS, wording, "whole" if len(lines) == 1 else "line", labels)]

    alone: dict[Labels, str] = {}
    for line in lines:
        if (labels := read_labels(line)) and offer.has(labels):
            alone.setdefault(labels, line)
    if alone:
        labels, line = next(iter(alone.items()))
        return claim(line, labels, line) if len(alone) == 1 else []
    if len(lines) == 1:  # numbers are labels only without option letters
        labels = read_labels(lines[0])
        is_label = labels is not None and not any(map(str.isdigit, labels))
        if is_label or (offer.digits and (labels is not None or _CIRCLED_OPTION.fullmatch(lines[0]))):
            return claim(lines[0], NO_LABELS, lines[0])
    form = OPTION_LINE if offer.known else _NUMBERED_OPTION
    options = {option[1]: line for line in lines if (option := form.fullmatch(line)) and not lists_options(line)}
    if not options or not offer.has(frozenset(options)):
        return []
    label, line = next(iter(options.items()))
    if len(options) == 1:
        return claim(line if len(lines) == 1 and label.isalpha() else label, frozenset(label), line)
    several = offer.several and len(options) == len(lines) < len(offer.known)
    return claim(wording := ", ".join(options), frozenset(options), wording) if several else []


_ALL_LABELS = [*"ABCDEFGHIJ", *"123456789"]
_NO_ARTICLE = r"(?<![A-Za-z])(?!A\s(?!(?:is|are|was|and|or|has|does|can|fails|cannot|gives)\b)[a-z])"
_SURELY_ANSWER = late(r"(?i)题意|选|排除|答案|answer|option|choice|답|ruled|eliminat|exclud|reject|out\b|제외|배제")
_OPEN_LIST = late(r"(?:[\s,，、;；和与及&]|\band\b)+\Z")
_OPEN_CHARS = 80
_ABOUT_SOMETHING = late(rf"\s*[A-J](?:\s+[a-z]{{2,}}|\s?[{NOUN_ZH}])")
_LAST_LINES, _LINE_CHARS = 3, 3_000
_BOXED, _BOXED_LIST = late("[A-J]"), late("[A-J](?:, ?[A-J])*|[A-J]{2,10}")
_BEFORE_PRINTED = r"[.．、:：)）][,，]?|[,，(（](?:\s*(?:i\.e\.|that is|which is|namely),?(?=\s))?"
"""Separators of a label and its option's text."""
_BEHIND_TEXT = " .。)）"
_NUMBERED = late(
    r"(?<![\d.])(?P<first>\d{1,3})\s?"
    r"(?:[-—–~～至]\s?(?P<last>\d{1,3})\s?[.、．:：)]?\s?(?P<row>[A-J](?:[ ,，、]?[A-J])+)"
    r"|(?:[.、．:：)]\s?(?:故?选|答案[为是:：]?)?|\s?答案[为是:：]?)\s?(?P<one>[A-J]))(?![A-Za-z])"
    r"(?!\s?(?:选项|项)?\s?(?:是|为)?(?:错|不正确|正确|不对|对|wrong|incorrect|correct|false|true))"
)
_SECTION = late(
    r"(?m)【\s?(?:第\s?)?(\d{1,3})\s?(?:小?题)[^】\n]{0,6}】"
    r"|^[#* ]{0,6}(?:第|问题|(?i:question)\s)?\s?(\d{1,3})\s?(?:题|[.．、:：])"
)
_SHORT = 80
"""In a longer text on one sub-question only explicit commitments count."""


def _holding(cleaned: str, listed: list[Claim], offer: Asked) -> Claim | None:
    best: Claim | None = None
    for new in listed:
        if best is None or (new.labels == best.labels and new.strength > best.strength):
            best = new
        elif CONCLUDED < new.strength < MARKED and remarks.is_remark(cleaned, new.start, new.end):
            continue
        elif new.strength == best.strength <= CONCLUDED and new.labels != best.labels:
            best = replace(new, labels=NO_LABELS, said=quoted(cleaned[best.start : new.end]))
        elif new.strength >= best.strength or {"retract", "instead"} & classes(cleaned[best.end : new.start]):
            best = new
    if best is None or not best.labels:
        return best
    until = offer.printed_until(cleaned, best)
    if best.strength <= CONCLUDED and offer.wrong is False and not offer.several:
        verdicts = (verdict for verdict in label_verdicts(cleaned) if verdict.right and not verdict.as_answer)
        if any(not verdict.labels <= best.labels for verdict in verdicts):
            return replace(best, labels=NO_LABELS, said=quoted(cleaned))
    if any(shared(cleaned, best.start, end, best.labels, offer.wrong) for end in {best.end, until}):
        denial: int | None = len(cleaned)
    else:
        denial = _denied_until(cleaned, replace(best, end=until), offer)
    quote = quoted(cleaned[best.start : denial])
    return best if denial is None else replace(best, labels=NO_LABELS, said=quote)


def _denied_until(cleaned: str, claim: Claim, offer: Asked) -> int | None:
    """The end of the first later denial, or None."""
    back = remarks.taken_back(cleaned, claim.end, _named(cleaned, claim, offer))
    if back is not None:
        return back
    verdicts = label_verdicts(cleaned, claim.start)
    later = (verdict for verdict in verdicts if verdict.end > claim.end and verdict.labels & claim.labels)
    return next((verdict.end for verdict in later if _denies(cleaned, verdict, verdicts, claim, offer)), None)


def _named(cleaned: str, claim: Claim, offer: Asked) -> remarks.Named:
    """Patterns of the claimed option and of others."""
    strict = None if offer.wrong is None else not offer.wrong
    this = _written(claim.labels) if len(claim.labels) == 1 and not offer.wrong else None
    printed = offer.texts.get(next(iter(claim.labels)), "") if this is not None else ""
    printed = printed if len(printed) > (3 if printed.isascii() else 1) else ""
    if this is not None and any(map(str.isalpha, printed)) and printed.lower() in cleaned[claim.end :].lower():
        this = re.compile(rf"{this.pattern}|(?i:{re.escape(printed)})")
    return remarks.Named(this, _written(frozenset(_ALL_LABELS) - claim.labels), strict, explained=True)


@cache
def _written(labels: Labels) -> re.Pattern[str]:
    letters = "".join(label for label in _ALL_LABELS if label in labels and label.isalpha() and label != "I")
    digits = "".join(label for label in _ALL_LABELS if label in labels and label.isdigit())
    ways = [rf"{_NO_ARTICLE}[{letters}]{{1,9}}(?![A-Za-z])"] if letters else []
    ways += [rf"[{''.join(CIRCLED[int(label) - 1] for label in digits)}]|[{digits}]\s?번"] if digits else []
    return re.compile("|".join(ways) or "(?!)")


def _denies(cleaned: str, verdict: LabelVerdict, verdicts: list[LabelVerdict], claim: Claim, offer: Asked) -> bool:
    if remarks.is_told(cleaned, verdict.start, verdict.end):
        return False
    sentence = sentence_before(cleaned, verdict.start)
    turn = TURN.search(sentence) is not None
    if verdict.right:
        return bool(offer.wrong) and not verdict.as_answer and turn
    if verdict.as_answer and (offer.wrong is False or _SURELY_ANSWER.search(cleaned[verdict.start : verdict.end])):
        return True
    if offer.wrong is None:
        return turn or verdict.start <= claim.end
    return not offer.wrong


def is_choice(box: str, text: str, question: Question) -> bool:
    """Checks for offered labels and no more, whose text, if given, is theirs."""
    offer = Asked.of(question)
    if not (_BOXED_LIST if offer.several else _BOXED).fullmatch(box) or not offer.has(read_labels(box) or NO_LABELS):
        return False
    return _with_other_text(text, box, question) is None


def find_choice(text: str, question: Question, truncated: bool) -> Found:
    """The labels of the claim, or its words; else a stated value."""
    offer = Asked.of(question)
    cleaned = remarks.settled(cleaned_text(text, offer.several))
    listed = marked_claims(cleaned, offer) or ([] if truncated else plain_claims(cleaned, offer))
    claim = _holding(cleaned, sorted(listed, key=lambda claim: claim.end), offer)
    if claim is not None:
        goes_on = truncated and _OPEN_LIST.sub("", cleaned[-_OPEN_CHARS:]).endswith(claim.said)
        if goes_on and offer.several and claim.method == "phrase":
            return NOTHING
        other = _with_other_text(text, claim.said, question) if claim.strength >= LOOSE else None
        return [other or claim.said], claim.method
    if (tabled := tabled_values(tail(text), 1)) and read_labels(tabled[0]):
        return tabled, "labelled"
    values, method = find_values(text, question, truncated, committed_only=not any(o.text for o in question.options))
    if values and lists_options(" ".join(values[0].split())):
        return NOTHING
    if values and _ABOUT_SOMETHING.match(values[0]) and values[0].strip() not in {o.text for o in question.options}:
        return NOTHING
    options = [" ".join(without_markup(value).split()) if "\\" in value else "" for value in values]
    pairs = zip(values, options, strict=True)
    return [option if len(value) <= 400 and labelled_option(option) else value for value, option in pairs], method


def _with_other_text(text: str, label: str, question: Question) -> str | None:
    label = label.strip("()（）")
    if len(question.options) < 2 or len(label) != 1:
        return None
    for line in [line for line in text[-_LINE_CHARS:].splitlines() if line.strip()][-_LAST_LINES:]:
        quoted = list(_printed(label).finditer(line)) if label in line else []
        behind = line[quoted[-1].end() :][:400].rstrip(_BEHIND_TEXT) if quoted else ""
        printed = [option.label for option in question.options if normal_form(option.text) == normal_form(behind)]
        if behind and printed and printed[-1] != label:
            return f"{label}. {behind.strip()}"
    return None


@cache
def _printed(label: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z]){re.escape(label)}\s*(?:{_BEFORE_PRINTED})\s*(?=\S)")


def find_choices(text: str, question: Question, truncated: bool, count: int) -> Found:
    """One choice a sub-question, by numbers, labels or count of commitments; else the whole text."""
    if numbered := _numbered(cleaned_text(text, False), count):
        return numbered, "labelled"
    if (tabled := tabled_values(tail(text), count)) and all(len(label_sequence(value)) == 1 for value in tabled):
        return tabled, "labelled"
    first_part = question.model_copy(update={"answer": question.answer[:1]})
    for parts in (labelled_parts(tail(text), count), _sections(text, count)):
        listed = [find_choice(part, first_part, truncated or len(part) > _SHORT)[0] for part in parts]
        if listed and all(listed):
            return [answer[0] for answer in listed], "labelled"
    strong = _strong_ones(remarks.settled(cleaned_text(text, False)), Asked.of(question))
    single = [label_sequence(answer.said)[0] for answer in strong if len(answer.labels) == 1]
    sums = [labels for answer in strong if len(labels := label_sequence(answer.said)) == count]
    if len(single) == count or (not single and sums):
        chosen = single or sums[-1]
        if not sums or sums[-1] == chosen:
            return chosen, "phrase"
    return ([text.strip()], "whole") if text.strip() and not says_nothing(text, question) else NOTHING


def _numbered(cleaned: str, count: int) -> list[str]:
    """Letters behind `count` consecutive numbers ("21. B 22. C", "36-40 EBACD")."""
    letters: list[str] = []
    expected = 0
    for match in _NUMBERED.finditer(cleaned):
        found = [char for char in match["one"] or match["row"] if char.isalpha()]
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if last - first + 1 != len(found):
            continue
        letters = letters + found if first == expected else found
        expected = last + 1
    return letters if len(letters) == count else []


def _sections(text: str, count: int) -> list[str]:
    """Texts behind the last consecutive headings ("【32题详解】 … 【33题详解】 …")."""
    marks = list(_SECTION.finditer(text))[-count:]
    numbers = [int(mark[1] or mark[2]) for mark in marks]
    if len(marks) < count or numbers != list(range(numbers[0], numbers[0] + count)):
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]


def _strong_ones(cleaned: str, offer: Asked) -> list[Claim]:
    kept: list[Claim] = []
    for candidate in sorted(marked_claims(cleaned, offer), key=lambda claim: claim.end):
        if kept and candidate.start < kept[-1].end:
            kept[-1] = max(kept[-1], candidate, key=lambda rival: rival.strength)
        elif not remarks.is_remark(cleaned, candidate.start, candidate.end):
            kept.append(candidate)
    return kept
