"""Data sets of the Hub: download, and reasons of failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from livek12.core import progress
from livek12.core.text import one_line, public

_NETWORK = ("httpx", "httpcore", "requests", "urllib3", "aiohttp")


class NotFetched(Exception):
    """Failed download, with a one-line reason."""


def fetch(name: str, revision: str | None = None, patterns: list[str] | None = None) -> Path:
    """Downloads a dataset ORG/NAME, or files that match `patterns`, into the Hub's cache; raises NotFetched."""
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            name, repo_type="dataset", revision=revision, allow_patterns=patterns, tqdm_class=_bars()
        )
        return Path(folder)
    except Exception as error:  # the Hub's client raises its own, httpx's and OSErrors
        raise NotFetched(reason(error)) from None


def _bars() -> Any:
    from huggingface_hub.utils.tqdm import tqdm

    class Bars(tqdm):
        def __init__(self, *args: Any, **settings: Any) -> None:
            shown = {"disable": True if progress.quiet else None, "leave": False}
            super().__init__(*args, **{**settings, **shown})  # type: ignore[no-untyped-call]

    return Bars


def reason(error: BaseException) -> str:
    """Reason of a failed Hub call."""
    cause = root(error)
    kind = type(cause).__name__
    if kind == "OfflineModeIsEnabled":
        return "HF_HUB_OFFLINE is set, and no copy is in the cache"
    if kind == "RepositoryNotFoundError":
        return "it has no such data set, or none that the token may see"
    if kind == "RevisionNotFoundError":
        return "it has the data set, and not this revision"
    if is_network(cause):
        return f"{endpoint()} cannot be reached, and no copy is in the cache"
    if is_no_hub(cause):
        return no_hub()
    return one_line(getattr(cause, "server_message", None) or cause, 160)


def root(error: BaseException) -> BaseException:
    """The Hub's or the network's own error inside the client's."""
    while error.__cause__ is not None and getattr(error, "response", None) is None:
        error = error.__cause__
    return error


def is_network(cause: BaseException) -> bool:
    """True if there was no answer at all."""
    if getattr(cause, "response", None) is not None:
        return False
    return isinstance(cause, ConnectionError | TimeoutError) or type(cause).__module__.startswith(_NETWORK)


def is_no_hub(cause: BaseException) -> bool:
    """True if the client did not understand the answer."""
    named = type(cause).__module__.startswith("huggingface_hub")
    return not named and isinstance(cause, KeyError | IndexError | TypeError | ValueError | AttributeError)


def no_hub() -> str:
    """Message for such an answer."""
    return (
        f"what answers at {endpoint()} is no Hub, or something stands before it (a login page, a proxy): check the"
        " network and HF_ENDPOINT"
    )


def endpoint() -> str:
    """The Hub's address, as of the client's import."""
    from huggingface_hub import constants

    return public(constants.ENDPOINT)
