"""Exception for everything a user can mend, and its texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """External problem: names the cause, the id or file, and the remedy."""


def why(error: BaseException) -> str:
    """Reason of an error on one line, without errno and path."""
    if (errors := getattr(error, "errors", None)) is not None:  # pydantic's, which is not imported for this
        first = errors(include_url=False, include_input=False)[0]
        return " ".join([*(f"{step}:" for step in first["loc"]), *first["msg"].split()])
    return getattr(error, "strerror", None) or next(iter(str(error).splitlines()), type(error).__name__)


@contextmanager
def explain_errors(problem: str, advice: str = "", *kinds: type[Exception]) -> Iterator[None]:
    """Turns OSError and these kinds into a UserError: problem, reason, advice."""
    try:
        yield
    except (OSError, *kinds) as error:  # type: ignore[misc]
        reason = f" {why(error)}" if problem.endswith(":") else f" ({why(error)})"
        raise UserError(problem + reason + advice) from error


def install(*extras: str, beside: str = "") -> str:
    """Command that installs livek12 with extras from a clone, and packages with them."""
    what = f"'.[{','.join(extras)}]'" if extras else "."
    return " ".join(filter(None, (f"pip install {what}", beside, "in the clone of livek12")))
