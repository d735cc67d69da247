"""The one exception for whatever a user can mend; the command line prints it as one line and exits 2."""

from __future__ import annotations


class UserError(Exception):
    """Something outside the program is wrong: says what, with which id or file, and what to do."""


def why(error: BaseException) -> str:
    """What an error says, on one line: of the system its words, without number and path; of several lines the first."""
    return getattr(error, "strerror", None) or next(iter(str(error).splitlines()), type(error).__name__)
