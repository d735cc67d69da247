"""What an engine knows of itself while it works: the sizes that it was given and what came of them.

Contract: an engine that knows any of it has an attribute `figures`, right at any moment and still after its end; what
it does not know is None. Sessions (core.run.sessions) keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from livek12.core.run.sessions import Figures


def figures_of(engine: object) -> Figures:
    """What an engine knows; nothing of one that keeps no figures."""
    found = getattr(engine, "figures", None)
    return found if isinstance(found, Figures) else Figures()


def together(parts: Iterable[Figures]) -> Figures:
    """The figures of engines that work side by side."""
    known = list(parts)
    return Figures(
        context=_of(min, known, "context"),
        kv_tokens=_of(sum, known, "kv_tokens"),
        preemptions=_of(sum, known, "preemptions"),
        stages={name: max(each.stages.get(name, 0.0) for each in known) for each in known for name in each.stages},
    )


def one_after_another(earlier: Figures, later: Figures) -> Figures:
    """The figures of two engines of which the second took the place of the first."""
    both = [earlier, later]
    return Figures(
        context=_of(min, both, "context"),
        kv_tokens=earlier.kv_tokens if later.kv_tokens is None else later.kv_tokens,
        preemptions=_of(sum, both, "preemptions"),
        stages=earlier.stages or later.stages,
    )


def _of(how: Callable[[list[int]], int], parts: Iterable[Figures], name: str) -> int | None:
    known = [found for one in parts if (found := getattr(one, name)) is not None]
    return how(known) if known else None
