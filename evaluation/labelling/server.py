"""The server of the labelling page: its queue, its answers, and the labels that it takes.

Contract: `serve` runs until it is stopped; every label is on the disk before it is answered. Who may talk to it is
`core.serving.guard`'s to say. A rater is never told what another one labelled; what the run decided, and which
marks people set in its place, is told to whoever asks for that answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.serving.pages import page_app, serve_page
from livek12.core.visible import IN_JAVASCRIPT
from livek12.evaluation.labelling.regrading import Regrading
from livek12.evaluation.labelling.store import LabelNotStored, LabelStore
from livek12.evaluation.labelling.view import answer_view, said_view

if TYPE_CHECKING:
    from fastapi import FastAPI

    from livek12.report.paper import Pages

STATIC = Path(__file__).resolve().parent / "static"


@dataclass(frozen=True)
class Surroundings:
    """What the page shows beside the answers themselves.

    Attributes:
        run: the folder's name.
        modalities: of each task.
        pages: page images.
        regrading: where people set marks in place of the judges'.
        audited: the reasoning of the run's answers is audited.
        verdict: show what the run decided.
    """

    run: str
    modalities: Mapping[str, str]
    pages: Pages
    regrading: Regrading
    audited: bool = False
    verdict: bool = False


def serve(
    store: LabelStore, shown: Surroundings, rater: str, host: str, port: int, ready: Callable[[str], None]
) -> None:
    """Serves the page until it is interrupted.

    Args:
        store: what is labelled.
        shown: what the page shows.
        rater: who labels, unless the page says another name.
        host: the address.
        port: 0 takes a free one.
        ready: is told the address to open, with its token.

    Raises:
        UserError: the address cannot be taken, FastAPI or uvicorn is not installed, or the rater's file is held.
    """
    store.labels(rater)
    serve_page(lambda: make_app(store, shown, rater), host, port, ready)


def make_app(store: LabelStore, shown: Surroundings, rater: str) -> FastAPI:
    """The application, without its guard."""
    from fastapi import Body, HTTPException
    from fastapi.responses import JSONResponse

    app = page_app(STATIC, ("label.js", "label.css", "regrade.js"))
    answers, regrading = store.answers, shown.regrading

    def answer(make: Callable[[], dict[str, Any]]) -> JSONResponse:
        told: dict[str, Any]
        try:
            told, status = make(), 200
        except LabelNotStored as error:
            told, status = {"error": str(error)}, 507
        except UserError as error:
            told, status = {"error": str(error)}, 409
        return JSONResponse(told, status_code=status, headers={"Cache-Control": "no-store"})

    @app.get("/review/queue")
    def queue(by: str = "") -> Any:
        def made() -> dict[str, Any]:
            name = by or rater
            labels = store.labels(name)
            rows = [
                {"task": row.task, "id": row.question.id, "trial": row.trial + 1, "done": place in labels}
                for place, row in enumerate(store.answers)
            ]
            return {"rater": name, "run": shown.run, "unseen": IN_JAVASCRIPT, "queue": rows}

        return answer(made)

    @app.get("/review/answer/{place}")
    def one(place: int, by: str = "") -> Any:
        if not 0 <= place < len(store.answers):
            raise HTTPException(404, "there is no such answer")

        def made() -> dict[str, Any]:
            row = store.answers[place]
            said = store.labels(by or rater).get(place)
            image_only = shown.modalities.get(row.task) == "image_only"
            marked = regrading.marked(row) if shown.verdict else row
            view = answer_view(marked, image_only, shown.pages, shown.audited, shown.verdict)
            return {**view, "place": place, "said": said and said_view(said, row.question.points)}

        return answer(made)

    @app.get("/review/regrade/{place}")
    def group(place: int) -> Any:
        if not 0 <= place < len(answers):
            raise HTTPException(404, "there is no such answer")
        return answer(lambda: regrading.view(answers[place]))

    @app.post("/review/regrade")
    def regrade(told: dict[str, Any] = Body()) -> JSONResponse:  # noqa: B008 - FastAPI's way
        def made() -> dict[str, Any]:
            place, said = _what(told, len(answers))
            changed = regrading.put(str(told.get("by") or rater), answers[place], said)
            return {"answers": changed, **regrading.view(answers[place])}

        return answer(made)

    @app.post("/review/act")
    def act(told: dict[str, Any] = Body()) -> JSONResponse:  # noqa: B008 - FastAPI's way
        def made() -> dict[str, Any]:
            place, said = _what(told, len(answers))
            by = str(told.get("by") or rater)
            store.put(by, place, said)
            return {"done": place in store.labels(by)}

        return answer(made)

    return app


def _what(told: dict[str, Any], answers: int) -> tuple[int, dict[str, Any]]:
    """The place of an answer in the queue, and what is said of it.

    Raises:
        UserError: it says neither.
    """
    place, said = told.get("place"), told.get("said")
    if type(place) is not int or not isinstance(said, dict):
        raise UserError("the label says nothing that can be read")
    if not 0 <= place < answers:
        raise UserError("there is no such answer")
    return place, said
