"""`livek12 sign`: the hashes of all files of a run, signed by an ed25519 key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from livek12.scripts import options


@options.command("livek12 sign runs/qwen3 --key ~/.ssh/id_ed25519")
def sign(
    run: options.OwnRun,
    key: Annotated[
        Path,
        options.Opt("Private ed25519 key without a password, or the public key of one in ssh-agent."),
    ],
) -> None:
    """Sign a finished run. `livek12 check --signer` verifies the signature."""
    from livek12.core.progress import tell
    from livek12.core.run.access import alone
    from livek12.core.run.folder import RunFolder
    from livek12.core.run.signing import sign as signed

    with alone(run):
        tell(f"{run}: signed by {signed(RunFolder.open(run), key)}")
