"""The one exception for whatever a user can mend; the command line prints it as one line and exits 2."""

from __future__ import annotations


class UserError(Exception):
    """Something outside the program is wrong: says what, with which id or file, and what to do."""


def why(error: BaseException) -> str:
    """What an error says, on one line: of the system its words, without number and path; of several lines the first.

    Of a record that does not fit its model it is the first field that does not, and why.
    """
    if (errors := getattr(error, "errors", None)) is not None:  # pydantic's, which is not imported for this
        first = errors(include_url=False, include_input=False)[0]
        return " ".join([*(f"{step}:" for step in first["loc"]), *first["msg"].split()])
    return getattr(error, "strerror", None) or next(iter(str(error).splitlines()), type(error).__name__)


def install(*extras: str, beside: str = "") -> str:
    """The line that installs extras, and packages beside them; livek12 is installed from a clone (docs/install.md)."""
    return " ".join(filter(None, (f"pip install '.[{','.join(extras)}]'", beside, "in the clone of livek12")))
