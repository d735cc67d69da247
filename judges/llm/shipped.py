"""The panels that come with livek12: `--judge panel:NAME` names the file `panels/NAME.yaml`.

Contract: a shipped panel is a panel file like any other (see `spec.read_panel_file`), which also says what its weights
may be used for and what they need. Its judges run in vLLM here, or at the endpoint that is named.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError

SHIPPED = "panel:"
"""How `--judge` begins where it names one."""
FOLDER = Path(__file__).parent / "panels"
DEFAULT = "small"
"""The panel that is proposed where none is named."""


def shipped_panels() -> dict[str, dict[str, Any]]:
    """What the shipped files say, by name, smaller panels first."""
    import yaml

    said = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in FOLDER.glob("*.yaml")}
    return dict(sorted(said.items(), key=lambda named: sum(judge["weights_gb"] for judge in named[1]["judges"])))


def shipped_file(name: str, engine: str = "", shared: Mapping[str, Any] | None = None) -> tuple[Path, str]:
    """The file of a shipped panel, and the engine of its judges.

    Args:
        name: of the panel.
        engine: of `--judge-engine`; without one, that of the endpoint that is named, else vLLM.
        shared: of `--judge-engine-args`, where an endpoint may be named.

    Raises:
        UserError: there is no such panel, or it is to be asked at an endpoint and none is named.
    """
    files = {file.stem: file for file in FOLDER.glob("*.yaml")}
    if name not in files:
        raise UserError(f"--judge {SHIPPED}{name[:80]}: there is no such panel; there are {', '.join(sorted(files))}")
    address = (shared or {}).get("base_url") or os.environ.get("OPENAI_BASE_URL")
    if engine == "openai" and not address:
        raise UserError(
            f"--judge {SHIPPED}{name}: no endpoint is named: give --judge-engine-args base_url=URL, or leave out"
            " --judge-engine to run the judges here in vLLM"
        )
    if engine in ("", "auto"):
        engine = "openai" if address else "vllm"
    return files[name], engine
