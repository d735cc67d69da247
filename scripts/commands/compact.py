"""`livek12 compact RUN`: a finished run as Parquet, and back."""

from __future__ import annotations

from typing import Annotated

from livek12.scripts import options


@options.command("livek12 compact runs/qwen3")
def compact(run: options.OwnRun, undo: Annotated[bool, "Restore the journals, byte for byte."] = False) -> None:
    """Pack the journals of a finished run into Parquet, losslessly. All commands read both forms."""
    from livek12.core.compaction import compact as pack
    from livek12.core.compaction import restore
    from livek12.core.progress import say

    sizes = restore(run) if undo else pack(run)
    say(f"{run}: {sizes.before / 1e6:,.1f} MB → {sizes.after / 1e6:,.1f} MB" + ("" if undo else "; --undo unpacks it"))
