"""Serves a page to people: the address, the token, the guard, and the files that the page is made of.

Contract: `serve_page` runs until it is stopped. Nobody is answered who has not opened the address with its token
(`core.serving.guard`). Files are served by a list, never by a path that a request names.
"""

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
    """Serves an application behind its guard until it is interrupted.

    Args:
        make_app: makes the application.
        host: the address. 127.0.0.1 is one that every user of the machine reaches.
        port: 0 takes a free one.
        ready: is told the address to open, with the token without which nobody is answered.

    Raises:
        UserError: the address cannot be taken, or FastAPI or uvicorn is not installed.
    """
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
    """An application that serves the page `index.html` and its scripts and styles, and nothing else yet.

    Args:
        static: the page's own folder.
        names: of its files; `page.js` and `page.css`, which all pages share, are served with them.
    """
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
