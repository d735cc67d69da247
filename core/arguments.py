"""Engine arguments as text (K=V,K2=V2): parsing, secrets, and the form that may be shown."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from livek12.core.errors import UserError
from livek12.core.text import public

C = TypeVar("C", bound=str)
HIDDEN = "…"
"""Stands in the place of a secret."""
_SECRET = re.compile(r"secret|passw|passphrase|credential|authori[sz]ation|bearer|cookie|(api|access|private)[-_ ]?key")
_SECRET_WORDS = frozenset({"auth", "key", "keys", "apikey", "token", "accesstoken", "authtoken", "pwd"})
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
SPREADING = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
"""Over how many devices one vLLM spreads is their product."""
_CLOSING = {"{": "}", "[": "]"}
_WORDS = {"true": True, "false": False, "none": None, "null": None}


def parse_engine_args(text: str) -> dict[str, str]:
    """Splits "K=V,K2=V2" at the commas outside JSON brackets, braces and double quotes."""
    arguments: dict[str, str] = {}
    for number, piece in enumerate(split_at_commas(text), 1):
        name, equals, value = piece.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            plain = re.fullmatch(r"[a-z_]+", piece.strip()) and not any(map(is_secret, arguments))
            shown = f" ({piece.strip()})" if plain else ""  # else it may be half of a key with a comma in it
            raise UserError(f"engine argument {number}{shown} is not NAME=VALUE")
        if name in arguments:
            raise UserError(f"engine argument {name} is given twice")
        arguments[name] = value.strip()
    return arguments


def arguments_of(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """Engine arguments from a command's text, or from Python values by name."""
    if isinstance(given, str):
        return dict(parse_engine_args(given))
    if not isinstance(given, Mapping):
        raise UserError(f"engine arguments {given!r:.80}: give a mapping from names to values, or a text K=V,…")
    return dict(given)


def as_text(value: Any) -> str:
    """Value as on the command line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def split_at_commas(text: str) -> list[str]:
    """Non-empty pieces between commas outside quotes and brackets."""
    pieces, start, open_brackets, quoted, escaped = [], 0, "", False, False
    for place, character in enumerate(text):
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in _CLOSING:
            open_brackets += _CLOSING[character]
        elif open_brackets and character == open_brackets[-1]:
            open_brackets = open_brackets[:-1]
        elif character == "," and not open_brackets:
            pieces.append(text[start:place])
            start = place + 1
    if quoted or open_brackets:
        raise UserError("engine arguments end inside a quote or bracket: each that opens must close")
    return [piece for piece in [*pieces, text[start:]] if piece.strip()]


def typed_value(text: str) -> Any:
    """JSON if valid, true/false/none in any case, else the text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def masked(args: Mapping[str, Any]) -> dict[str, Any]:
    """Engine arguments without secrets, even in addresses, nested objects, lists and JSON texts."""
    return {name: _masked(name, value) for name, value in args.items()}


def _masked(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _masked_text(name, value)
    if isinstance(value, Mapping):
        return HIDDEN if is_secret(name) else {key: _masked(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(name, inner) for inner in value]
    return value


def _masked_text(name: str, text: str) -> str:
    value = typed_value(text)
    if isinstance(value, dict | list):
        try:
            shown = _masked(name, value)
        except RecursionError:
            return HIDDEN
        return text if shown == value else shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    if not isinstance(value, str) and not _SECRET.search(name.lower()):
        return text
    if is_secret(name):
        return HIDDEN
    is_address = name == "base_url" or _ADDRESS.match(text) is not None
    return public(text) if is_address and any(sign in text for sign in "@?#") else text


def is_secret(name: str) -> bool:
    """Recognises names of secrets: `hf_token` and `X-Api-Key`, but not `tokenizer` or `token_budget`."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return bool(_SECRET.search(name.lower())) or (bool(words) and words[-1].lower() in _SECRET_WORDS)


def one_of(option: str, value: str, choices: Collection[C]) -> C:
    """Value, which must be one of the choices."""
    for choice in choices:
        if value == choice:
            return choice
    raise UserError(f"{option} {value!r}: choose one of {', '.join(choices)}")
