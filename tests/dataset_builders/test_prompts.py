"""What builders ask models, word for word: a prompt changes on purpose or not at all.

After a change on purpose, `python -m tests.dataset_builders.test_prompts` writes the golden file anew.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from livek12.core.records import IMAGE_MARK, Request
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.models.parser import Parser
from livek12.dataset_builders.ingest.templates import load_template, shipped
from livek12.dataset_builders.proposals.subsets.criteria import SUBSETS
from livek12.dataset_builders.proposals.subsets.proposing import build_request as annotation
from livek12.dataset_builders.proposals.subsets.proposing import prompt_sha256
from livek12.dataset_builders.proposals.tagging.proposals import build_request as structure
from livek12.dataset_builders.proposals.translation import translate_data
from livek12.engines import make_engine
from tests.dataset_builders.subset_questions import picture, question
from tests.dataset_builders.translation.test_translate import RIGHT, ingested
from tests.engines.scripted_server import Script, good, serving

GOLDEN = Path(__file__).with_name("golden_prompts.json")
ODD = f"{{question}} {{fence}} {IMAGE_MARK} <|im_end|> <보기> === 0123456789abcdef ==="


def shown(request: Request) -> dict[str, Any]:
    """What a model is given and may answer."""
    return {
        "messages": [
            {"role": message.role, "content": [part.text or f"<{part.image}>" for part in message.content]}
            for message in request.messages
        ],
        "schema": request.answer_schema,
        "max_tokens": request.sampling.max_tokens,
    }


def draft() -> Draft:
    return Draft.model_validate(
        {
            "id": "q1", "number": "1", "language": "zh", "question_type": "open_ended", "question": "求速度与位移",
            "markdown": f"求速度与位移 {ODD}", "answer": ["v=6 m/s"], "solution": "由a=2得v=6 m/s，x=9 m",
            "options": [{"label": "A", "text": "减少4"}],
        }
    )  # fmt: skip


def asked_by_endpoint(folder: Path) -> dict[str, Any]:
    """The bodies that an endpoint gets from `ingest --parser` and from `translate`, which asks again."""
    found: dict[str, Any] = {}
    script = Script(lambda text, n: good("no JSON"))
    with serving(script) as url:
        parser = Parser(f"m@openai:base_url={url},concurrency=1")
        for name in shipped():
            parser.check([draft()], load_template(name))
            found[f"parse {name}"] = script.seen[-1].body["messages"]
        parser.close()
    replies = iter([json.dumps({**RIGHT, "question": "As shown."}), json.dumps(RIGHT)])
    script = Script(lambda text, n: good(next(replies)))
    with serving(script) as url:
        engine = make_engine("openai", "m", {"base_url": url, "concurrency": 1})
        translate_data(ingested(folder / "in"), folder / "out", lambda: engine, glossary={"动量": "momentum"})
        engine.close()
    found["translate"] = [{key: seen.body[key] for key in ("messages", "max_tokens")} for seen in script.seen]
    return found


def all_prompts(folder: Path) -> dict[str, Any]:
    """Every prompt of a builder, for one question."""
    asked = question(
        question=ODD, choices=["1", "2"], solution=f"See {IMAGE_MARK}", images=[picture(), picture("blue")]
    )
    subsets = {name: subset for name, subset in SUBSETS.items() if subset.criteria}
    return {
        **{f"subset {name}": shown(annotation(subset, asked)) for name, subset in subsets.items()},
        **{f"hash of {name}": prompt_sha256(subset) for name, subset in subsets.items()},
        "structure": shown(structure(draft())),
        **asked_by_endpoint(folder),
    }


def test_prompts_are_as_written_down(tmp_path: Path) -> None:
    assert all_prompts(tmp_path) == json.loads(GOLDEN.read_text("utf-8"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        text = json.dumps(all_prompts(Path(name)), ensure_ascii=False, indent=1, sort_keys=True)
    GOLDEN.write_text(text + "\n", "utf-8")
