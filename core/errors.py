"""The one exception for whatever a user can mend; the command line prints it as one line and exits 2."""

from __future__ import annotations


class UserError(Exception):
    """Something outside the program is wrong: says what, with which id or file, and what to do."""
