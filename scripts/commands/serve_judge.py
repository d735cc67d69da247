"""`livek12 serve-judge`: the judge over HTTP."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options


@options.command("livek12 serve-judge --port 7870 --workers 4")
def serve_judge(
    host: Annotated[str, "Address to listen on."] = "127.0.0.1",
    port: Annotated[int, options.Opt("Port to listen on; 0: a free one.", min=0, max=65535)] = 7870,
    workers: Annotated[int | None, options.Opt("Number of processes; default: one per core.", min=1)] = None,
    undecided: Annotated[float | None, "Score of undecided answers; default: null."] = None,
    judge: options.Judge = "rules",
    as_json: options.Json = False,
) -> None:
    """Serve the judge over HTTP: POST /verify, POST /verify/batch, GET /health."""
    from livek12.core.serving.pages import is_loopback
    from livek12.evaluation.judge_service import serve
    from livek12.evaluation.verify import Verifier

    def ready(address: str, version: str) -> None:
        if as_json:
            typer.echo(json.dumps({"url": address, "judge": version}))
            return
        tell(f"judging at {address} (POST /verify, POST /verify/batch, GET /health; Ctrl+C ends it)")
        if not is_loopback(host):
            tell("warning: whoever reaches this address may ask; there is no password", err=True)

    with Verifier(workers, undecided, judge) as verifier:
        serve(verifier, host, port, ready)
