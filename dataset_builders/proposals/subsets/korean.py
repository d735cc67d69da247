"""Word lists for knowledge of Korea, by category.

Contract: `found` gives the words of a category that stand in a text, at the beginning of a Korean word. A list holds
names and terms that are Korean by themselves; where a name is also an ordinary word or part of one (고려 "consider",
대전 "charged", 부산물 "by-product"), its right-hand context has to tell. `criteria.RULES_VERSION` goes up with any
change.
"""

from __future__ import annotations

import re

WORDS: dict[str, tuple[str, ...]] = {
    "korea": (r"대한민국|우리\s?나라|한국(?=의|에|은|이|인|사|어|문화|음식|정부|\s)|국내법|국내\s?법령",),
    "law": (
        r"법률|법령|현행법|특허권|저작권법|지식재산권|헌법|민법|형법|상법|조례|근로기준법|공직선거법?|국가보안법|국가공무원법|지방공무원법|도로교통법|건축법|소방시설법|부가가치세|종합소득세",
        r"「[^」\n]{1,40}(?:법|령|규칙|조례|고시|훈령)[^」\n가-힣]{0,10}」|[가-힣]{2,20}(?:시행령|시행규칙|특별법|기본법|보호법|진흥법|특례법|소송법|임대차)|제\s?\d+조(?:의\s?\d+)?(?![가-힣])",
        r"행정소송|헌법소원|위헌\s?법률|권한쟁의|탄핵\s?심판",
    ),
    "institutions": (
        r"국회|국회의원|대법원|지방법원|고등법원|헌법재판소|청와대|국무총리|국무회의|국세청|경찰청|검찰청|교육부|행정안전부|기획재정부",
        r"보건복지부|고용노동부|국토교통부|금융위원회|한국은행|감사원|선거관리위원회|지방자치단체|주민센터|주민등록|국민연금|국민건강보험",
        r"국민기초생활|대학수학능력|국가기술자격|한국산업인력공단|국가직무능력|한국전력|한국도로공사|정부세종청사",
    ),
    "history": (
        r"고조선|고구려|백제|신라|가야(?=\s?(?:국|연맹|시대|의|와|를))|발해(?=\s?(?:의|는|와|를|시대|[가-힣]*왕|[,.)]))",
        r"고려(?=\s?(?:시대|왕|말|초|의|는|와|가|전기|후기|사|청자|[,.)])|[가-힣]*종)|조선(?!소|업|공|해|용|기자재)|대한\s?제국|일제\s?강점|일제",
        r"임진왜란|병자호란|갑오개혁|을미사변|동학|독립운동|광복|한국\s?전쟁|3[·.․]1\s?운동|6[·.․]25|4[·.․]19|5[·.․]18|6월\s?민주\s?항쟁",
        r"세종\s?대왕|이순신|안중근|왕건|이성계|정약용|흥선\s?대원군|광개토|장수왕|진흥왕|경국대전|대동법|균역법|탕평|성균관|고인돌|조선왕조실록",
    ),
    "language": (
        r"한국어|우리말|존댓말|품사|부사어|관형어|다의어|자음|조사(?=\s?['‘“\"])|한글|훈민정음|맞춤법|표준어|표준\s?발음법|국어|띄어쓰기|사이시옷|음운|형태소|중세\s?국어|높임\s?표현|높임법|문장\s?성분",
        r"피동문|피동사|피동\s?표현|사동문|사동사|사동\s?표현|선어말|어말\s?어미|연결\s?어미|격\s?조사|보조사|접미사|합성어|파생어|두음\s?법칙",
        r"구개음화|비음화|유음화|속담|관용\s?표현|시조|향가|판소리|고전\s?소설|순우리말|사투리",
    ),
    "culture": (
        r"태극기|무궁화|애국가|한복|한옥|온돌|김치|된장|고추장|비빔밥|불고기|떡국|송편|막걸리|설날|추석",
        r"단오|정월\s?대보름|동지\s?팥죽|돌잔치|환갑|회갑|차례상|차례를\s?지|폐백|사물놀이|탈춤|강강술래|아리랑|씨름|태권도|한류|찜질방|김장",
    ),
    "geography": (
        r"한반도|서울|부산(?!물)|대구(?=\s?(?:광역시|시|지역|[,.)]))|인천|광주(?=\s?(?:광역시|시|지역|[,.)]))",
        r"대전(?=\s?(?:광역시|시|지역|[,.)]))|울산|세종시|경기도|강원도|충청|전라[남북]?도|경상[남북]?도|제주|독도|울릉도|백두산|한라산|지리산",
        r"설악산|한강|낙동강|영산강|휴전선|비무장\s?지대|동해안|남해안|황해도|수도권",
    ),
}
_PATTERNS = {category: re.compile(rf"(?<![가-힣])(?:{'|'.join(words)})") for category, words in WORDS.items()}
_SHOWN = 6


def found(category: str, text: str) -> list[str]:
    """The different words of a category in a text, in the order they stand; at most six."""
    words = dict.fromkeys(" ".join(match.group().split()) for match in _PATTERNS[category].finditer(text))
    return list(words)[:_SHOWN]
