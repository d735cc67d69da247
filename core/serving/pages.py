"""Server of a local page: address, token, guard and files, which are served by a list, never by a requested path."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError, install
from livek12.core.serving.addresses import listen, shown_host
from livek12.core.serving.guard import Guard

if TYPE_CHECKING:
    from fastapi import FastAPI


SHARED = Path(__file__).resolve().parent / "static"
_KINDS = {".js": "text/javascript", ".css": "text/css"}


def serve_page(make_app: Callable[[], FastAPI], host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serves an application behind its guard until it is interrupted; `ready` receives the address with its token."""
    listening = listen(host, port)
    try:
        import uvicorn

        app = make_app()
    except ImportError as error:
        listening.close()
        raise UserError(f"the page needs {error.name}: {install('review')}") from None
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    guard: Any = Guard(app, host, port, token)  # uvicorn's own types spell out every kind of message
    config = uvicorn.Config(guard, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=1)
    ready(f"http://{shown_host(host)}:{port}/?token={token}")
    uvicorn.Server(config).run(sockets=[listening])


def page_app(static: Path, names: tuple[str, ...]) -> FastAPI:
    """Application that serves `index.html`, the named files, and the shared `page.js` and `page.css`."""
    from fastapi import FastAPI, HTTPException, Response

    files: Mapping[str, Path] = {name: static / name for name in names} | {
        name: SHARED / name for name in ("page.js", "page.css")
    }
    app = FastAPI(openapi_url=None, redirect_slashes=False)

    def answer(file: Path, media_type: str) -> Response:
        return Response(file.read_bytes(), media_type=media_type, headers={"Cache-Control": "no-store"})

    @app.get("/")
    def page() -> Any:
        return answer(static / "index.html", "text/html")

    @app.get("/review/static/{name}")
    def shared(name: str) -> Any:
        if name not in files:
            raise HTTPException(404, "there is no such file")
        return answer(files[name], _KINDS[files[name].suffix])

    return app
