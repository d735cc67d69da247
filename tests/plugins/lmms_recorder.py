"""lmms-eval's own command line with a model that answers from a file and writes down what reached it.

    python -m tests.plugins.lmms_recorder --model recorder --model_args answers=FILE,seen=FILE … [-- …]

`answers` is JSONL of `task` (the harness's name), `question_id`, `trial`, `response`; `seen` becomes JSONL of `task`,
`question_id`, `rows` as `tests.plugins.conftest.parity_rows` has them, and `asked`, the generation arguments. A
chat model sees what OpenAI-like endpoints are sent; a simple one (`--force_simple`) the text, then the pictures.
What follows a `--` is another run, in the same process.
"""

from __future__ import annotations

import base64
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import PIL.Image
import yaml

from livek12.engines.torch_builds import mend_torch_builds

mend_torch_builds()


class QuickLoader(yaml.CFullLoader):
    """Reads YAML by libyaml: lmms-eval's thousands of task files take pure Python ten times as long, for each run."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.name = getattr(stream, "name", "")  # by which lmms-eval finds the functions beside a file


yaml.FullLoader = yaml.loader.FullLoader = QuickLoader  # type: ignore[misc, assignment]

from lmms_eval.api.model import lmms  # noqa: E402
from lmms_eval.cli.dispatch import main  # noqa: E402
from lmms_eval.models import MODEL_REGISTRY_V2  # noqa: E402
from lmms_eval.models.registry_v2 import ModelManifest  # noqa: E402
from lmms_eval.protocol import ChatMessages  # noqa: E402

from tests.plugins.conftest import Row, rgb_sha256  # noqa: E402


class Recorder(lmms):  # type: ignore[misc]
    """Takes the documents as lmms-eval's chat models do."""

    is_simple = False

    def __init__(self, answers: str, seen: str, **_: Any) -> None:
        super().__init__()
        rows = map(json.loads, Path(answers).read_text(encoding="utf-8").splitlines())
        self._answers = {(row["task"], row["question_id"], row["trial"]): row["response"] for row in rows}
        self._seen = Path(seen)

    def generate_until(self, requests: list[Any]) -> list[str]:
        """The recorded answer to each request, once what reached us is written down."""
        trials: Counter[tuple[str, str]] = Counter()
        said = []
        with self._seen.open("a", encoding="utf-8") as file:
            for request in requests:
                rows, asked, doc_id, task, split = self.taken(request.args)
                id = self.task_dict[task][split][doc_id]["id"]
                file.write(json.dumps({"task": task, "question_id": id, "rows": rows, "asked": asked}) + "\n")
                said.append(self._answers[task, id, trials[task, id]])
                trials[task, id] += 1
        return said

    def taken(self, args: tuple[Any, ...]) -> tuple[list[Row], Any, int, str, str]:
        """What a chat model is given, and of which document."""
        _, doc_to_messages, asked, doc_id, task, split = args
        messages = ChatMessages(messages=doc_to_messages(self.task_dict[task][split][doc_id])).to_openai_messages()
        return [row for message in messages for row in _rows(message)], asked, doc_id, task, split

    def loglikelihood(self, requests: list[Any]) -> Any:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: list[Any]) -> Any:
        raise NotImplementedError


class SimpleRecorder(Recorder):
    """Takes the documents as lmms-eval's simple models do."""

    is_simple = True

    def taken(self, args: tuple[Any, ...]) -> tuple[list[Row], Any, int, str, str]:
        """What a simple model is given, and of which document."""
        text, asked, doc_to_visual, doc_id, task, split = args
        pictures = doc_to_visual(self.task_dict[task][split][doc_id])
        seen = [("user", "text", text), *(("user", "image", rgb_sha256(picture)) for picture in pictures)]
        return seen, asked, doc_id, task, split


def _rows(message: dict[str, Any]) -> Iterator[Row]:
    for part in message["content"]:
        if part["type"] == "text":
            yield message["role"], "text", part["text"]
        else:
            encoded = part["image_url"]["url"].partition("base64,")[2]
            yield message["role"], "image", rgb_sha256(PIL.Image.open(io.BytesIO(base64.b64decode(encoded))))


if __name__ == "__main__":
    # Under its importable name: what runs as __main__ is another module.
    here = "tests.plugins.lmms_recorder"
    MODEL_REGISTRY_V2.register_manifest(
        ModelManifest("recorder", chat_class_path=f"{here}.Recorder", simple_class_path=f"{here}.SimpleRecorder")
    )
    given = sys.argv[1:]
    while given:
        end = given.index("--") if "--" in given else len(given)
        sys.argv[1:], given = given[:end], given[end + 1 :]
        main()
