"""The built sample is what it was: texts to the byte, rows and ids of every split, in their order.

`python -m tests.dataset_builders.test_golden_sample` writes the golden file anew, where a change is meant.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path

from livek12.core.questions import data_files, fingerprint, read_card, read_records
from livek12.core.records import Question
from livek12.dataset_builders import build

GOLDEN = Path(__file__).with_name("golden_sample.json")


def described(folder: Path) -> dict[str, object]:
    texts = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
        if file.suffix in (".md", ".json")
    }
    rows = {}
    for config, splits in read_card(folder).items():
        for split, patterns in splits.items() if config != "pages" else ():
            questions = [row for file in data_files(folder, patterns) for row in read_records(Question, file)]
            ids = hashlib.sha256("\n".join(question.id for question in questions).encode()).hexdigest()
            rows[f"{config}/{split}"] = [len(questions), ids, fingerprint(questions)]
    return {"texts": texts, "rows": rows}


def test_the_built_sample_is_what_it_was(built: Path) -> None:
    assert described(built) == json.loads(GOLDEN.read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        build("sample", "", Path(place) / "sample")
        GOLDEN.write_text(json.dumps(described(Path(place) / "sample"), indent=1) + "\n")
    sys.exit()
