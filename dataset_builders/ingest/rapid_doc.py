"""What RapidDoc (layout, OCR, formulas and tables as ONNX models on a CPU) found on a paper's pages, in our blocks.

Contract: `run` calls RapidDoc where it is installed, in a process of its own. What it writes has MinerU's shape
(`NAME_content_list.json`, pictures beside it) and is read by `mineru.read`, as strictly. It fetches its models when it
is first called; where it cannot, the error is one line.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from livek12.core.errors import UserError
from livek12.core.records import Language
from livek12.dataset_builders.ingest import mineru
from livek12.dataset_builders.ingest.blocks import PageBlocks

_LANGUAGES: Final = {"zh": "ch", "en": "en", "ko": "korean"}
_CODE: Final = (
    "import sys; from rapid_doc import RapidDoc; RapidDoc(lang=sys.argv[3])([sys.argv[1]], output_dir=sys.argv[2])"
)


def run(pdf: Path, language: Language | None = None, pages: range | None = None) -> Iterator[PageBlocks]:
    """Calls RapidDoc on a paper and yields its pages.

    Args:
        pdf: the paper.
        language: of its text; None: Chinese with English, which is RapidDoc's own default.
        pages: numbers from 1; None for all.

    Raises:
        UserError: RapidDoc is not installed, cannot fetch its models, fails, or takes too long.
    """
    if importlib.util.find_spec("rapid_doc") is None:
        raise UserError("RapidDoc is not installed here: pip install 'rapid-doc[cpu]', or read another way (--how)")
    with tempfile.TemporaryDirectory(prefix="rapid-doc-") as folder:
        command = [sys.executable, "-c", _CODE, str(pdf.resolve()), folder, _LANGUAGES.get(language or "zh", "ch")]
        mineru.call(command, "RapidDoc", pdf)
        for page in mineru.read(Path(folder), pdf, pages):
            blocks = [block.model_copy(update={"origin": "rapid_doc"}) for block in page.blocks]
            yield page.model_copy(update={"blocks": blocks})
