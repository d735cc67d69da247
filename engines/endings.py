"""How a recorded answer ended where its log does not say it: told by its tokens and the most that it could have.

Contract: an answer with as many tokens as its limit was cut off, one with fewer ended by itself. What a log counts is
exact. What is counted here from the text may be off by a little (a cut within a sign, blanks that a harness strips), so
that a text just below its limit has no known ending. Neither has one above: that limit was not in force.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from livek12.core.errors import UserError
from livek12.core.text import one_line

FILE = "tokenizer.json"
OFF = 2
"""Tokens by which counts of one answer may differ, and its limit have been in force all the same."""
SHARE = 0.01
"""Of the limit: a text that was cut there is not counted shorter than this."""


def ending(tokens: int, limit: int, counted: bool = False) -> Literal["length", "stop"] | None:
    """The finish reason of an answer; None where its tokens do not tell.

    Args:
        tokens: of the answer, thinking included.
        limit: the most tokens that it could have.
        counted: the tokens were counted from the text, and not by who made it.
    """
    if tokens >= limit:
        return "length" if tokens <= limit + OFF else None
    return None if counted and tokens >= limit - OFF - SHARE * limit else "stop"


class Tokenizer:
    """What a model's tokenizer tells of its answers.

    Args:
        name: a folder with a `tokenizer.json`, that file, or the name of a model on the Hub.

    Raises:
        UserError: there is no such tokenizer, or the library that reads it is missing.
    """

    def __init__(self, name: str) -> None:
        try:
            import tokenizers
        except ImportError:
            raise UserError("counting tokens needs the package tokenizers: pip install tokenizers") from None
        file = _file(name)
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises bare Exception for whatever is wrong with a file
            raise UserError(f"{file}: no tokenizer that can be read ({one_line(error, 150)})") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        added = self._tokenizer.get_added_tokens_decoder()
        self._special = {id for id, token in added.items() if token.special}

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def ends(self, token: int) -> bool:
        """Whether a token ends an answer, or fills it up behind its end."""
        return token in self._special


def _file(tokenizer: str) -> Path:
    path = Path(tokenizer)
    if path.exists():
        file = path / FILE if path.is_dir() else path
        if not file.is_file():
            raise UserError(f"{path}: has no {FILE}; give the folder of the model's tokenizer")
        return file
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(tokenizer, FILE))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise UserError(
            f"tokenizer {tokenizer}: no such folder, and no {FILE} of that name from the Hub ({one_line(error, 150)})"
        ) from None
