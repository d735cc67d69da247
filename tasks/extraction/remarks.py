"""Clauses, one lexicon of denial and doubt, and remarks: hypotheses, corrections, denials and retractions.

A remark never replaces an earlier answer; a correction does. A denial binds to the answer that its clause is about: the
first named there by label, printed text or value, else that of the clause before. Linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from livek12.core.patterns import late

SO_EN = r"(?:so|thus|hence|therefore|consequently|in\sconclusion|finally)"
SO_ZH = r"(?:综上(?:所述|可知)?|总之|因此|所以|因而|于是|从而|可见|可知|故)"
SO_KO = r"(?:따라서|그러므로|그래서|결국|즉)"
SO = rf"(?:{SO_EN}|{SO_ZH}|{SO_KO})"
"""Words that conclude."""
ANSWER_EN = r"(?<![A-Za-z])(?:(?:final|correct|right|best)\s)?(?:answers?|ans(?:\.(?=\s))?)(?![A-Za-z])"
ANSWER_ZH = r"(?:(?:正确|最终|最后|标准|参考)的?)?答案"
ANSWER_KO = r"(?<!오)(?:최종\s?)?(?:정답|답안|답변|답)"
ANSWER = rf"(?:{ANSWER_EN}|{ANSWER_ZH}|{ANSWER_KO})"
"""Words for an answer."""
FALSE_ZH = r"(?:错误?|有误|不对(?![称应])|不正确|不成立|有(?:些|点|明显)?问题)"
UNFIT_ZH = (
    r"(?:不合(?!理数)|不符合?|不满足|不可能|不行|作废|应?该?舍[去弃]|(?:应该?|被|要|可以?)?被?排除|被?淘汰|干扰项"
    r"|站不住|不可靠|不严谨|并非如此|漏洞|增根|不是(?:正确|最终|本题)?的?(?:答案|解|结果|选项)|自相矛盾|(?:发现|得到|得出|出现|[与是相有明显和])[^。，,\n]{0,12}(?:矛盾|相悖|不符))"
)
VERY_ZH = r"(?>是|也|却|并|显然|其实|可能|应该|肯定|都|中|里|存在|出现|了|有|[^\S\n]){0,5}"
WRONG_ZH = f"(?:{VERY_ZH}(?:{FALSE_ZH}|{UNFIT_ZH}|不是))"
MANNER = r"(?:\w{2,12}\s)?"
FALSE_EN = (
    r"(?:(?:wrong|incorrect|false|untrue|mistaken|inaccurate)\b"
    rf"|(?:not|n['’]t)\s{MANNER}(?:true|valid|accurate|correct|right)\b)"
)
FAILS_EN = (
    rf"(?:(?:(?:does|do|did)(?:n['’]t|\snot))\s{MANNER}(?:fit|satisfy|work|match|hold|meet|apply|answer|agree|follow|pass|check|make)\b"
    r"|(?:can(?:not|['’]t|\snot)|could(?:n['’]t|\snot)|must\snot)\sbe(?:\s(?:right|correct|true|it|so|the|valid|possible)\b|(?=\s?[.,!;\n]))"
    r"|fails\b|contradicts\b|violates\b|is\s(?:an?\s)?extraneous\b)"
)
UNFIT_EN = (
    r"(?:(?:impossible|invalid|inconsistent|eliminated|(?:ruled|thrown|left|crossed)\sout|excluded|rejected|discarded|extraneous)\b"
    rf"|not\s(?:(?:the|an?|our|my)\s)?{MANNER}(?:answer|option|choice|solution)\b"
    r"|not\s(?:possible(?!\sto)|attainable|feasible|acceptable|admissible|consistent|plausible|viable|allowed)\b"
    r"|(?:an?|the)\s(?:\w{2,12}\s)?(?:mistake|error|typo|trap|distractor|decoy|contradiction)\b)"
)
IS_EN = (
    r"\s?(?:\b(?:is|was|are|were|seems?|looks?|must\sbe|would\sbe|would|has\sto\sbe|turns\sout\sto\sbe)\s|['’]s\s"
    r"|\b(?:is|was|are|were|does)(?=n['’]t))"
)
WRONG_EN = (
    rf"(?:{IS_EN}{MANNER}(?:{FALSE_EN}|{UNFIT_EN}"
    rf"|(?:not|n['’]t)\s{MANNER}(?:the|possible(?!\sto)|it|an?|what)\b)|\s{FAILS_EN})"
)
WRONG_KO = r"(?:틀(?!린\s?\S{1,4}\s?없)|잘못|오답|옳지|맞지|아니|아닙|적절하지|성립하지|만족하지|조건에\s(?:맞지|어긋))"
NOT = (
    r"\b(?:not|never|cannot|unable|none|neither|nor|whether|except|exclud\w*|doubt\w*|unlikely|myth|lie|misconception|den(?:y|ies|ied)|disagree|refute"
    r"|told|no\s(?:way|longer))\b|n['’]t\b|无法|难以|是否|并非|(?<!错)误(?!差)|没有|避免|排除|[勿别]|否认|怀疑|假的|거짓|부정"
)
"""Words that deny what follows in their clause."""
NEGATION = (
    rf"{NOT}|不(?!等(?!于)|同(?!于)|定|变|仅|妨|难|断|规则|可逆|带电|计|考虑|超过|少于|大于|小于)|无(?!穷|限|理|论|色|关)|未(?!知)"
    r"|没|非|错|舍|淘汰|\b(?:impossible|wrong|incorrect|false|untrue|mistake|rejected|fails?|sorry|avoid|out)\b"
    r"|않|없(?!이)|못|아니|아닌|틀[리린렸]|탈락|오답|잘못|모순|제외"
)
"""Words of denial and doubt anywhere in a clause."""
HEDGED = (
    r"[至最][少多]|如果|假设|可能|也许|或许|大概|[大小多少高低]于|超过|이상|이하|미만|초과|아마|또는|만약|라면|보다"
    r"|\b(?:at\s(?:least|most)|(?:more|less|fewer|greater)\sthan|between|or|if|unless|maybe|perhaps|probably|possibly|might|may|could|suppose|assume"
    r"|but|however)\b"
)
"""Words by which a value is a bound, supposed or one of several."""
TURN = late(
    r"(?i)但(?!是?否)|然而|可是|不过|其实|实际上|而(?=应|是|正确)|하지만|그러나|지만"
    r"|\bbut\b|\bhowever\b|\bwhich is\b|[\d,;—–]\s?it(?:'s| is)\b"
)
_ENDS = r"(?<=[。！？?\n；;])|(?<=!)(?!=)|(?<=\.)(?<!\.[eg]\.)(?=\s)|(?<=．)(?!\d)"
_SENTENCE_END = late(rf"[。！!？?\n；;.．](?:{_ENDS})")
_CLAUSE_END = late(rf"[。！!？?\n；;.．，,：:](?:{_ENDS}|(?<=[，,：:]))")
CHARS = 300
Span = tuple[int, int]
_HYPOTHETICAL = late(
    r"(?i)若|假如|如果|假设|假使|倘|要是|即使|万一|만약|만일|다면|\b(?:if|suppose|assuming|unless|were|would)\b"
)
_OTHERS = (
    r"易错|易误|常见错|常错|错误(?:地|的)?(?:答案|选项|结果|解法|原因)"
    r"|(?:很多|许多|不少|部分|有些|有的|某些|大多数?)(?:同学|学生|人|考生|资料|书|答案|网站)|有的|有人|有同学|[甲乙丙丁](?:同学|认为|选|说(?!法))|小[明红华刚丽强]"
    r"|(?:학생|사람)(?:들)?[은이]|흔한"
    r"|\b(?:students?|people|those|someone|others|many|some|few)\s+(?:\w+\s+)?(?:who|may|might|will|would|often|choose"
    r"|pick|select|get|think|say|answer|find|obtain|write|put|mistakenly)\b"
    r"|\b(?:common(?:ly)?|typical|frequent)\s+(?:mistake|error|wrong|pitfall|trap|incorrect)"
)
_MISTAKEN = (
    r"误[选认以区填写解答]|错[选填解认]|오답|실수"
    r"|\b(?:mistakenly|incorrectly|wrongly|tempting|distractor|trap|wrong answer|incorrect answer)\b"
)
_QUOTED_KEY = (
    r"(?:参考|标准)答案(?!.*[,，])|(?:课本|教材|用户|老师|教师|网上)[^。，,；;\n]{0,6}(?:给出|说|认为|称|声称)"
    r"|\b(?:reference|official|textbook|expected|gold(?:en)?|ground[- ]truth|published|printed)(?:['’]s)?"
    r"\s(?:final\s)?(?:answer|solution)"
    r"|\baccording\sto\s(?:the|your|this|that|an?|my)\s(?:\w{2,12}\s)?(?:key|answers?|textbook|book|user|student|author|teacher|source)\b"
    r"|\b(?:users?|teachers?|friends?|(?:text)?books?|authors?|professors?|websites?|graders?)\s"
    r"(?:claims?|says?|said|states?|thinks?|believes?|insists?|argues?|wants?|expects?)\b|참고\s?답안|모범\s?답안"
)
"""The answer of a key, a book or a user: a report, which replaces no answer of the response."""
_ATTRIBUTED = late(f"(?i){_OTHERS}|{_MISTAKEN}|{_QUOTED_KEY}")
CONCLUDES = late(rf"(?i)(?<![A-Za-z]){SO}(?![A-Za-z])")
RETRACTION = (
    r"(?:\b(?:no|oh|hmm|ah)[,.]?\s*wait\b|\bwait[,.]?\s*no\b|\bsorry\b|\bcorrection\b|\bscratch that\b"
    r"|(?<=[.。…!！,，\s])no,|(?<=[.。…!！,，;；\s])(?:不对?|不是|错了|说错了|写错了)[，,。：:！!]|更正|订正|改正为|修正为|아니[,，]|정정)"
)
_NOT_BUT = (
    (("不是", "并非", "不应", "不为"), late(r"((?:答案|选项?|正确的)\s*)(?:不是|并非|不应是|不应该是|不为)[^。\n；;]{1,30}?[,，]?\s*而(?:应该?)?(?:是|为)"), r"\1是"),  # noqa: E501
    (("아니", "아닌"), late(r"[①-⑩]\s?번?\s?(?:이|가)?\s?(?:아니라|아니고|아닌)\s?(?=[①-⑩])"), ""),
    (("아니",), late(r"((?:정답|답)\s*(?:은|는)?)\s*[^.\n]{1,30}?\s*(?:이|가)?\s*아니(?:라|고|며)[,，]?"), r"\1"),
    (("but",), late(r"(?i)(\b(?:is|are)\s+)not\s+[^.\n;]{1,30}?,?\s+but\s+(?:rather\s+)?"), r"\1"),
    (("不是", "而非", "而不为"), late(r"(?:[,，]?\s*(?:而不是|而非|而不为)|[,，]\s?(?:并)?不是)(?:\s?\$[^$\n]{1,100}\$|[^。\n，,；;$]{1,40})"), ""),  # noqa: E501
    (("not", "rather", "instead"), late(r"(?:,\s*(?:and\s+)?not|,?\s+rather\s+than|,?\s+instead\s+of)\s+(?:(?:option|choice)\s)?(?:\$[^$\n]{1,100}\$|[^,;\n$]{1,20}?)(?=[.]?(?:\s|$)|[;,])"), ""),  # noqa: E501
)  # fmt: skip
"""Words (in small letters) without one of which a text has no such turn, the turn, and what is kept of it."""
_DENIED = late(
    rf"(?i){NOT}|[不未]\s*(?:能|可|应|会|要|得|宜|是|为|等于|该|写成|必)|错(?:解|写|得|填|选|认)"
    r"|\b(?:false|untrue|wrong|incorrect|impossible|doubtful|mistake)\s(?:that|to)\b"
)
_WRONG_BEHIND = late(
    r"(?i)\s*(?:[)）$*]\s*)*[(（【]\s*(?:错|误|×|✗|不对|不正确|wrong|incorrect|false)"
    r"|\s*(?:[)）$*]\s*)*is\s(?:an?|the)\s(?:\w{2,12}\s)?(?:mistake|error|trap|distractor)\b"
    r"|\s*(?:[)）$*]\s*)*is\swhat\s(?:you|one|we|most|many|people|students)\b|\s*번?\s*(?:으?로|이?라고)\s?(?:보이|생각|착각|오해)[^.\n]{0,10}(?:지만|으나)|\s*번?\s*이?었(?:으나|지만|는데)|\s*(?:번)?\s*(?:이|은|는|가)?\s*(?:아니|아닌|틀|오답)|\s*(?:번)?\s*[을를]\s*제외"
    r"|\s*번?\s*(?:이?라는\s\S{1,4}\s(?:거짓|틀)|이?라고\s?(?:생각|보)하?기\s쉽)"
)
_LEAD_CHARS = 64
"""More than any lead in words needs; each place of it is tried."""
_ANSWER_IS = (
    r"(?:answer|value|result|choice|option|solution|response|conclusion)s?(?:\s(?:here|given|above))?\s?"
    r"(?:is|are|was|(?:would|might|could)\sbe|[:=])"
)
_ANSWER_IS_ZH = r"的?\s?(?:答案|结果|选项|结论|解答)\s?(?:应该?|就)?(?:是|为|[:：])"
_FALSE_LEAD = late(
    r"(?:(?:(?:\b(?:wrong|incorrect|naive|false|mistaken|erroneous|invalid|flawed|faulty|tempting|common|typical|popular|intuitive"
    r"|first|initial|previous|earlier|original|old|fake|supposed|alleged|rejected|partial|intermediate)"
    r"|(?<!let)(?<!here)(?<!what)(?<!that)['’]s)\s|\b(?:half|twice|double|triple|third|square|reciprocal|negative|opposite)\s(?:of\s)?(?:the|this|my|our)\s)"
    + _ANSWER_IS
    + r"|(?:\b(?:not|never|cannot|anything\sbut)|n['’]t)\s(?:be\s|(?:simply\s|just\s)?"
    r"(?:write|put|answer|say|enter|choose|box|give|pick|take"
    r"|accept|submit|report|conclude|equal)\s(?:down\s|that\s|as\s|with\s)?)?"
    r"|\b(?:mistake|wrong|incorrect|error|tempt(?:ed|ing)|foolish|easy)\sto\s"
    r"(?:write|put|answer|say|enter|choose|think|conclude|get)\s"
    r"|(?:错误|不正确|有误|不对|常见|典型|误导"
    r"|学生|同学|他人|别人|某人|小[明红华刚丽强]|起初|最初|原来|之前)"
    + _ANSWER_IS_ZH
    + r"|(?:不要|不能|不应该?|不可以?|请勿|切勿|勿|(?<!特)(?<!分)(?<!区)别|不是|并非|绝不)"
    r"(?:写成?|填写?|答|选|得出?|认为|算成|写为|为)?"
    r"|(?:误|错)(?:写成?|填写?|答|选|得|认为|以为|算成|写为)"
    r"|(?:오답|(?:틀린|잘못된|틀리기\s쉬운|학생의|흔한)\s?(?:정?답|값|결과|선택))(?:은|는|이|:)?)\s?[:：]?[\s$〘〖(*]*\\?\(?\Z",
    re.IGNORECASE,
)
_CONTRARY = late(
    r"(?i)(?:若|如果|假如|要是|倘若)[^。；;，,\n]{0,20}(?:不考虑|不计|没有?|忽略|忽视|忘|漏|误|错)[^。；;\n]{0,20}[,，]\s?(?:则|那么|那|就)?\Z"
    r"|\b(?:if|had)\b[^.;\n]{0,40}\b(?:forg[eo]t\w*|neglect\w*|ignor\w*|omit\w*|overlook\w*|mis(?:read|takes?|took))\b[^.;\n]{0,60},\s(?:then\s)?(?:the\s)?\Z"
    r"|(?:않|없|무시|잊)[^.\n]{0,10}(?:면|다면),?\s?\Z"
)
_EXAMPLE = late(r"(?i)\s*(?:例如|比如|譬如|举例|for example|for instance|e\.g\.|예를 들)")
_SUPPOSED_AT_ONCE = late(
    r"(?i)(?:\b(?:if|suppose|assume|assuming|were)(?: that)?(?: the)?(?: \w{2,12})?"
    r"|\b(?:such as|for example,?|for instance,?|e\.g\.,?)|例如|比如|形如|예를 들어|예:"
    r"|\bone (?:would|could|might) (?:write|answer|put)(?: down)?"
    r"|(?:\bin the form(?:at)?(?: of)?|(?:示例|样例|例子|格式|形式|模板)[^。\n，,]{0,6}?(?:是|为|写作|[:：]))"
    r"(?=\s?[\"“「『'‘])"
    r"|若|如果|假如|假设|倘若|만약|만일)\s?[\"“「『'‘$〘〖]*(?:(?:the|my) (?:final )?)?\Z"
)
"""Right before the words that state an answer, or before a box."""
_SUPPOSING = late("if|suppos|assum|were|such as|form|for (?:ex|in)|e[.]g|one (?:wo|co|mi)|[例形若假만예式样]|如果|模板")
"""Stems, in small letters, without which nothing is supposed."""
_SHOWN_FORM = late(r"[\s)）}$〙〗]{0,4}(?:와|과)\s?같(?:이|은)\s?(?:쓰|적|표|답|형)")
_BREAK = r"(?:(?<=[。.…!！?？；;:：\n—–(（〗〙})）*_\-])|(?<=[。.…!！?？；;:：,，〗〙})）*]\s)|\A)\s?"
"""Beginnings of a new thought."""
_SIGNS = r"[\s.。…,，;；:：!！〗〙)）}$*\]—–-]*"
_BUT = (
    r"(?:(?:但是?|不过|然而|可是|其实|可惜|but|however|though|although|yet|well|okay|oh"
    r"|하지만|그러나|그런데|아)[,，]?\s?)?"
)
_NOUN_EN = r"(?:answer|value|choice|option|result|number|conclusion|calculation|solution|reasoning|derivation)"
_SELF = (
    r"(?:(?:这个?|该|此|上述|以上|上面的?|前面的?|前述|我的?|刚才的?|之前的?|原来的?|先前的?)(?:的)?"
    rf"(?:答案|选择|结果|推导|计算|推理|判断|解答|分析|过程){WRONG_ZH}"
    r"|(?:检查|验算|复查|核对|检验)(?:之?后|一下|时)?[,，]?\s?(?:发现)?(?:有误|错了|不对|有错)|答案(?:是错|错了|作废|有|不(?:对|正确|成立))"
    rf"|\b(?:my|the|this|that)\s(?:(?:above|previous|first|initial|earlier|final|given|stated|original)\s)?{_NOUN_EN}(?:\s(?:above|given))?"
    rf"(?:{WRONG_EN}|\s(?:has|contains)\san?\s(?:\w{{2,12}}\s)?(?:error|mistake))"
    rf"|(?:이|위의?|그|내|앞의|제)\s?(?:답|정답|결과|결론|계산|풀이|선택|답안)(?:은|는|이|가|도|에)\s?(?:\S{{1,6}}\s)?{WRONG_KO})"
)
"""The answer itself, called wrong."""
_IT = (
    rf"(?:(?:这|那|它|此|该)(?:个|一|样|种|道)?(?:选项|结论|项|值|说法|解|数)?{WRONG_ZH}"
    rf"|(?:this|that|it|which)(?:\s(?:one|{_NOUN_EN}))?{WRONG_EN}"
    rf"|(?:이것은|이건|이는|그것은|그건|이\s?값은)\s?(?:\S{{1,6}}\s)?{WRONG_KO})"
)
_NEXT = late(
    rf"(?i){_SIGNS}{_BUT}(?:{_IT}|[✗✘❌]|(?:wrong|false|incorrect)\s?[.!]|{FAILS_EN}"
    rf"|[(（【\[]\s?(?:(?:(?:这|此|该|上述|以上)个?(?:答案|结果|选项|值)?)?(?:{WRONG_ZH}|误|舍)|틀|오답|×"
    rf"|(?:this|that|it|which)?(?:{WRONG_EN}|{FALSE_EN}|not\b))"
    r"|不(?=\s?[,，。!！])|(?:不对|不是|错了|不行)\s?(?:[,，。.!！、]|\Z)|(?:应改|改)(?:为|成|选)"
    r"|(?:should|ought)\s(?:actually\s|instead\s|really\s)?(?:be|have\sbeen)\b|(?:or\s)?rather\b"
    r"|or\s(?:is|was|maybe|perhaps)\b|nope\b|nah\b|no(?=\s?[,.!]|\s(?:wait|it|that|actually)\b)"
    r"|it\s(?:should|must|ought)\b|아니[,，요.]|사실은|(?:잠깐|잠시만))"
)
"""Words that call what was just said wrong or replace it, whatever signs stand between."""
_INSTEAD = late(_SIGNS + r"(?:(?:应该?|应当|正确的?)(?:是|为|选)|其实|实际上|actually\b|in\sfact\b)", re.IGNORECASE)
"""The same at once; later, they may speak of anything."""
_RETRACTION = (
    r"(?:(?:(?:oh|hmm+|oops|no|but|ah|okay?|so|however)[,.]?\s|[哦啊呃额嗯唉哎][,，]?\s?)){0,2}"
    r"(?:wait\b(?!\s(?:for|until|time))|hold\son\b|on\s(?:second\sthoughts?|reflection)|correction\b|scratch\sthat|oops\b|(?:just\s)?kidding\b|never\s?mind\b|my\s(?:mistake|bad|apologies)"
    r"|(?:i['’]m\s)?sorry[,.]\s(?:i|it|the|that|wrong|correct|my)|apologies\b|i(?:\s(?:was|am|have\sbeen|may\sbe|might\sbe|could\sbe)|['’]m)\s(?:\w{2,12}\s)?(?:wrong|mistaken)"
    r"|i\s(?:have\s)?(?:made|miscalculat|misread|mistook|misappl|forgot|overlooked|missed)|let\sme\s(?:correct|fix|redo|reconsider|re-?(?:calculate|compute|think|evaluate|examine))"
    r"|that['’]s\s(?:not\sright|wrong|incorrect)|make\sthat\b|i\s(?:now\s)?(?:take\s(?:that|this|it)\sback|retract|withdraw)|(?:please\s)?(?:ignore|disregard|forget|discard|cross\sout)\s(?:that|this|it\b|(?:the|my|what)\s(?:\w{1,12}\s){0,3}?(?:above|previous|earlier|before|first|box|answer|wrote|said)\b)|i\smeant?\b|strike\sthat"
    r"|actually[,]?\s(?:no\b|i\b|it(?:['’]s|\sis|\sshould|\smust)|that(?:['’]s|\sis)|the\s(?:correct\s|right\s|final\s)?(?:answer|value|result)|(?:option\s)?\S{1,12}[.。]?\s?(?:\n|\Z))"
    r"|(?:it|this|that|the\s(?:answer|value|result))\sshould\s(?:actually\s|instead\s|really\s)?(?:be|have\sbeen)\b"
    r"|(?:等等|等一下|等下|慢着|且慢|稍等)\s?[,，。.!！…:：]|更正|订正|纠正|修正一?下|抱歉|对不起|不好意思|想了想|重新(?:计算|考虑|审视|思考|算|检查)"
    r"|[哦啊]不(?=[,，。!！])|其实(?:应|答案|正确|是错|选|不)|实际上(?:应该?(?:是|为|选)|答案|正确答案)|改(?:选|为|成)"
    r"|(?:我|前面|上面|刚才|刚刚)(?:前面|上面|刚才)?(?:[算看写说想弄搞选答记]错|犯了?错|搞混|出错)|[算看写说弄搞]错了?[,，。.!！]"
    r"|(?:请\s?)?(?:忽略|无视|划掉|作废)\s?(?:上面|以上|上述|前面|之前|刚才|那个?|这个?)"
    r"|(?:위의?|앞의?|이전의?)\s?\S{1,6}[은는을를]\s?(?:무시|취소|삭제)"
    r"|정정|수정|실수|아차|착각|미안|죄송|아,?\s?틀렸|다시\s?(?:계산|생각|보니|풀|검토)|아니[,，]|잠깐[,，.!…])"
)
CORRECTION = late(
    rf"(?i){RETRACTION}|{_RETRACTION}|\b(?:wait|actually|mistake|double[-\s]check|recheck|change\smy\smind|took\s(?:that|this|it)\sback)\b"
    r"|\b(?:ignore|disregard)\b"
    r"|\bre-?(?:consider|examin|think|calculat|comput|evaluat|visit)|等等|等一下|重新|收回|[看弄算搞写]错|还是选|再(?:检查|算|想|看)|检查(?:后|发现|一)"
    r"|사실|틀렸|잠깐|다시|재검토"
)
_NONE_RIGHT = (
    r"(?<![.．、:：)）]\s)(?<![.．、:：)）])(?:"
    r"(?:以上|上述|四个|所有|全部|各个?)(?:的)?(?:选项|答案|选择)(?:都|均|全|皆)(?:不|错)"
    r"|没有(?:一个|任何)?(?:选项|答案)?(?:是)?(?:正确|符合题意|合适)的?(?:选项|答案)?|无正确(?:选项|答案)"
    r"|\bnone\sof\s(?:the|these|them)\s?(?:given\s|above\s|listed\s)?(?:options|choices|answers|above)?\s?(?:is|are|match|fit|work|seems?)"
    r"|\b(?:there\sis\s)?no\s(?:correct|right|valid|matching)\s(?:option|answer|choice)"
    r"|(?:정답|맞는\s?것|옳은\s?것)(?:이|은)?\s?없)"
)
_DOUBT = late(
    r"(?i)也(?:有)?可能(?:是|为)|(?:无法|不能|难以)(?:完全)?(?:确定|判断|确认)|不(?:太)?确定|不(?:能|敢)肯定|或(?:者)?(?:没有|无)正确"
    r"|(?:故|所以|因此|因而|于是)[^。\n]{0,8}(?:无解|不存在|没有答案)|(?<!若)(?<!果)不成立[,，]?\s*(?:舍去|故)"
    r"|\bi(?:\swould|['’]d)\sbe\s(?:wrong|mistaken|incorrect)|라고\s?\S{1,6}면\s?안"
    r"|\b(?:or maybe|might also be|could also be|not (?:entirely )?sure|cannot (?:be determined|decide))\b"
    r"|확실하지\s*않|일\s*수도"
)
_DOUBT_CHARS = 60
_FAILED_CHECK = (
    r"(?:\b(?:check(?:ing)?|verif(?:y|ying|ication)|substituting|testing)\b|检验|验证|验算|代入|검산|대입)[^。\n]{0,60}?"
    r"(?:\b(?:fails?|differ|no\ssuch|(?:does|do)(?:\snot|n['’]t)\s(?:hold|work|match|agree|satisfy))\b"
    r"|(?<!两边)不等于|不成立|增根|发现矛盾|성립하지\s?않|다르므로|버린)"
)
_ANYWHERE = late(f"(?i){_FAILED_CHECK}|{_BREAK}{_RETRACTION}|{_SELF}|{_NONE_RIGHT}")
_SHORT_CHARS = 40
_NEGATED = late(rf"(?i){NEGATION}|问题")
_REJECTION = late(
    rf"(?i)不好意思|忽略(?:掉|以?上|前面?|之前|刚才|该|这|我)|(?<!不需要)(?<!不必)(?<!无需)(?<!不用)重新(?:看|算|计算|审|考虑|检查|分析|作答|做|选)|改[选答]|推翻(?:了)?(?:上|前|之前|这|我)|(?:收回|撤回|撤销)(?:这|该|上|前|刚|我)|[看算弄搞想答选写]错|符号(?:弄|搞|写)?[反错]|作废"
    rf"|(?:推理|推导|结论|结果|过程|答案|计算|解答|解法|풀이|계산|결론|결과|답)[^，。,.]{{0,12}}(?:{WRONG_ZH}|[有出]错|오류|{WRONG_KO})"
    rf"|\b{_NOUN_EN}\b[^.]{{0,30}}(?:{FAILS_EN}|{UNFIT_EN}|faulty|flawed|problematic)|\b(?:answer|it|this|that)\b[^.\n]{{0,40}}\b(?:rejected|discarded|invalid)\b"
    r"|\b(?:mistaken?|mistakes|flaw(?:ed|s)?|retract|oops|nope|misread|misunderstood|misapplied|overlooked|contradicts)\b"
    r"|\b(?:messed\sup|screwed\sup|cancel\sthat|try\sagain|changed?\smy\smind|answer\sis\sdifferent|a\scontradiction,?\sso)\b"
    r"|\b(?:reject|discard|exclude|ignore|disregard)s?\s(?:it|this|that|the\sabove)\b|\b(?:so|hence|thus|therefore)\b[^.\n]{0,20}\bno\s(?:real\s)?(?:solution|answer)"
    r"|(?:题意|条件|题设|假设|已知)[^，。]{0,6}(?:矛盾|不符)|并非如此|무시(?:해\s?주|하세요|하십시오|바랍)|정정|착각|실수|취소(?:합|한다|하겠)|잘못\s?(?:계산|풀|생각|봤|읽|선택)|모순이|만족하지\s?않|될\s?수\s?없"
)
_CALLED_WRONG = late(
    rf"(?i)错了|有误|不(?:对|正确|成立)|\b(?:the|a)\s(?:trap|distractor|decoy)\b|{FALSE_EN}|틀[렸리린립]|(?:옳|맞)지\s?않"
)
_DISCARDED = late(
    rf"(?i){UNFIT_ZH}|{FAILS_EN}|\b(?:discard|reject|contradict(?:ion|ed)?|disregard|ignore)\b|{UNFIT_EN}|만족하지\s?않|모순|제외|탈락|답이?\s?아니|어긋[나난]|위[배반]|될\s?수\s?없"
)
_THE_REST = late(
    r"(?i)其他|其余|另外|别的|剩下|\b(?:others?|remaining|rest|alternatives?|if|otherwise|without|avoid)\b|나머지|다른|[若如](?!此)|避免|否则"
)
_VALUE_CHARS = 60
_ENDING_KO = late(r"(?:입니다|이다|임|이에요|예요)$")
_ALONE_IN_BRACKETS = late(r"\([^(),]+\)")
_QUOTED_CHARS = 300


def sentence_before(text: str, end: int) -> str:
    """The sentence of a place, up to it."""
    return _before(text, end, _SENTENCE_END)


def clause_before(text: str, end: int) -> str:
    """The clause of a place, up to it, behind the last "but"."""
    return TURN.split(_before(text, end, _CLAUSE_END))[-1]


@lru_cache(maxsize=64)
def _before(text: str, end: int, border: re.Pattern[str]) -> str:
    start = max(0, end - CHARS)
    places = (mark.end() for mark in border.finditer(text, start, end + 1))
    return text[max((place for place in places if place <= end), default=start) : end]


def sentences_behind(text: str, end: int) -> list[Span]:
    """Spans of the rest of a sentence and of all behind it."""
    places = [end, *(mark.end() for mark in _SENTENCE_END.finditer(text, end)), len(text)]
    spans = ((start, min(until, start + CHARS)) for start, until in pairwise(places))
    return [span for index, span in enumerate(spans) if not index or text[slice(*span)].strip()]


def clauses_of(text: str, start: int, end: int, whole: re.Pattern[str] | None = None) -> list[str]:
    """The clauses of a span; a comma in a match of `whole` ends none."""
    spans = [match.span() for match in whole.finditer(text, start, end)] if whole else []
    ends = [mark.end() for mark in _CLAUSE_END.finditer(text, start, end) if mark.end() < end]
    places = [start, *(place for place in ends if not any(begin < place < until for begin, until in spans)), end]
    return [text[begin:until] for begin, until in pairwise(places)]


def settled(text: str) -> str:
    """Rewrites "not X but Y" and "Y, not X" as "Y"."""
    small = text.lower()
    for words, pattern, kept in _NOT_BUT:
        if any(word in small for word in words):
            text = pattern.sub(kept, text)
    return text


def is_remark(text: str, start: int, end: int) -> bool:
    """Checks for a hypothesis or a reported mistake."""
    sentence = sentence_before(text, start) + text[start:end]
    return _ATTRIBUTED.search(TURN.split(sentence)[-1]) is not None or is_told(text, start, end)


def is_told(text: str, start: int, end: int) -> bool:
    """Checks for a hypothesis."""
    sentence = sentence_before(text, start) + text[start:end]
    return _HYPOTHETICAL.search(CONCLUDES.split(sentence)[-1]) is not None


def denied(text: str, start: int, end: int) -> bool:
    """Checks whether surrounding words deny, suppose or report the answer."""
    return refused(text, start) or called_wrong(text, end) or supposed(text, start, end)


def refused(text: str, start: int) -> bool:
    """Checks whether preceding words deny or report the answer."""
    clause = clause_before(text, start)
    return _DENIED.search(clause) is not None or _ATTRIBUTED.search(clause) is not None


def false_lead(text: str, *places: int) -> bool:
    """Checks whether preceding words call the answer wrong, another's or forbidden, or suppose an error."""
    sentences = [sentence_before(text, place) for place in places]
    return any(_FALSE_LEAD.search(lead[-_LEAD_CHARS:]) or _CONTRARY.search(lead) for lead in sentences)


def called_wrong(text: str, end: int) -> bool:
    """Checks whether following words call the answer wrong."""
    return _WRONG_BEHIND.match(text, end) is not None


def supposed(text: str, start: int, end: int) -> bool:
    """Checks for a supposition: "if A, then …"."""
    lead = text[max(0, start - _LEAD_CHARS) : start]
    supposes = _SUPPOSING.search(lead.lower()) and _SUPPOSED_AT_ONCE.search(lead)
    if supposes or _EXAMPLE.match(sentence_before(text, start)):
        return True
    return _SHOWN_FORM.match(text, end) is not None


@dataclass(frozen=True)
class Named:
    """Patterns of the answer (None: ignored) and of others; whether "wrong" alone denies it."""

    this: re.Pattern[str] | None
    others: re.Pattern[str]
    strict: bool = True

    def without_this(self, words: str) -> str:
        """The words around the answer."""
        return self.this.sub("", words) if self.this is not None else words


def taken_back(text: str, end: int, named: Named) -> int | None:
    """The end of the retraction of the answer before `end`, or None."""
    if not text[end:].strip(" \n$.。)）}*〗〙"):
        return None
    spans = sentences_behind(text, end)
    near = dict.fromkeys(start for start, _ in (*spans[:2], spans[-1]))
    for pattern, place in ((_INSTEAD, end), *((_NEXT, start) for start in near)):
        if (direct := pattern.match(text, place)) and not is_told(text, place, direct.end()):
            return direct.end()
    if doubt := _DOUBT.search(text, end, end + _DOUBT_CHARS):
        return doubt.end()
    for match in _ANYWHERE.finditer(text, end):
        if not is_told(text, match.start(), match.end()):
            return match.end()
    return _rejected(text, spans, named)


def _rejected(text: str, spans: list[Span], named: Named) -> int | None:
    for number, (start, until) in enumerate(spans):
        sentence = text[start:until].strip()
        words = named.without_this(sentence)
        is_named, is_last = words != sentence, number == len(spans) - 1
        if not is_named and number > 1 and not is_last:
            continue
        if is_named and _binds(text, start, until, named):
            rejects = True
        elif _THE_REST.search(words):
            continue
        elif named.others.search(words):
            apart = number > 0 or text[start - 1 : start] in tuple("〗〙}>")
            rejects = apart and is_last and len(sentence) <= _SHORT_CHARS and _says_other(words, named.others)
        else:
            wrong = (_REJECTION, _CALLED_WRONG) if named.strict else (_REJECTION,)
            rejects = not is_named and any(pattern.search(words) for pattern in wrong)
        if rejects and not is_told(text, start, until):
            return until
    return None


def _binds(text: str, start: int, until: int, named: Named) -> bool:
    """Checks for a denial with this answer as topic."""
    short = named.strict and until - start <= _SHORT_CHARS
    bound = False
    for clause in clauses_of(text, start, until, named.this):
        words = named.without_this(clause)
        other = _THE_REST.search(words) or named.others.search(words)
        if words != clause:
            bound = other is None or words[: other.start()] != clause[: other.start()]
        elif other is not None:
            bound = False
        denials = [_DISCARDED] + [_CALLED_WRONG] * (named.strict and words != clause) + [_NEGATED] * short
        if bound and other is None and any(denial.search(words) for denial in denials):
            return True
    return False


def _says_other(words: str, others: re.Pattern[str]) -> bool:
    matches = list(others.finditer(words))
    ends = matches[-1].end() >= len(words.rstrip(" .。!！)）")) and len(matches) == 1 and matches[-1][0].isalnum()
    return ends and not _NEGATED.search(words)


def written_value(text: str, end: int, value: str) -> re.Pattern[str] | None:
    """Pattern of the value repeated behind `end`; None if absent or too long."""
    plain = _ENDING_KO.sub("", value.strip(" $.。")).removeprefix(r"\(").removesuffix(r"\)").strip()
    plain = plain[1:-1].strip(" $") if _ALONE_IN_BRACKETS.fullmatch(plain) else plain
    if not plain or len(plain) > _VALUE_CHARS or text.find(plain, end) < 0:
        return None
    return re.compile(rf"\$?(?<![A-Za-z0-9_.,/^{{+-]){re.escape(plain)}(?![A-Za-z0-9_/^]|[.,]\d)\$?")


def quoted(text: str) -> str:
    """Words for a reader, marked against reading as label or value."""
    return f"… {text.strip()[:_QUOTED_CHARS]} …"
