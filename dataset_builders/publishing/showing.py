"""Whether the rights of a question let it be shown to others, as on a site.

Contract: what `publish` would not send out for want of a licence is not shown either, unless a rights file permits it;
nor is what states that it may not be passed on. Whether anybody reviewed a question does not matter here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.core.records import Question
from livek12.core.rights import is_stated
from livek12.dataset_builders.publishing.rights import Permission, covering

NO_LICENCE = "no licence stated"
FORBIDDEN = "its licence forbids it"
_FORBIDS = re.compile(
    r"all rights reserved|(?:not?|never)\b[^.;]{0,40}\b(?:redistribut|re-?publi|distribut|shar(?:ed?|ing)\b|copy)|"
    r"no redistribution|redistribution (?:is )?(?:not|prohibited|forbidden)|proprietary|confidential|internal use|"
    r"版权所有|保留所有权利|禁止(?:转载|传播|分发|复制)|不得(?:转载|传播|分发|复制)|내부용|무단\s*(?:전재|복제|배포)|대외비|재배포\s*금지",
    re.IGNORECASE,
)


def refusal(question: Question, permissions: Sequence[Permission] = ()) -> str:
    """Why a question may not be shown; "" where it may."""
    row = {**question.model_dump(include={"id", "paper_id", "release", "benchmark", "source"})}
    if covering(permissions, row) is not None:
        return ""
    licence = question.source.licence or ""
    if not is_stated(licence):
        return NO_LICENCE
    return FORBIDDEN if _FORBIDS.search(licence) else ""
