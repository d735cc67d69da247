"""Usage of a run: the GPU busy share, tokens a second and energy of its engines, from its sessions and its marks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from livek12.core.scoring.answers import points_awarded
from livek12.core.scoring.schema import RunUsage
from livek12.core.sessions import read_sessions, usage_of

if TYPE_CHECKING:
    from livek12.core.scoring.outcomes import Outcomes


def run_usage(folder: Path, outcomes: Outcomes) -> RunUsage | None:
    """What the engines of a run used, and the energy of asking over the points that the answers got.

    Args:
        folder: the run folder.
        outcomes: of all its answers.

    Returns:
        None where no engine of the run made answers (imported runs, recorded answers).
    """
    sessions = read_sessions(folder)
    asking = usage_of(sessions, "generate")
    if asking is None:
        return None
    points, energy = points_awarded(outcomes), asking["watt_hours"]
    per_mark = None if energy is None or points is None or points[0] <= 0 else [energy / p for p in reversed(points)]
    return RunUsage(asking=asking, judging=usage_of(sessions, "judge"), watt_hours_per_mark=per_mark)
