"""What is known of an endpoint, for all requests to it together: whether it answers, when to try again, and where."""

from __future__ import annotations

import math
import time
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin

from livek12.core.text import one_line, public

PROBE_SECONDS = 5.0
LONGEST_RETRY_AFTER = 300.0


class Endpoint:
    """Whether the endpoint can be reached: what is known of it, for all requests together."""

    def __init__(self) -> None:
        self.served = False
        self.last_answer = 0.0
        self.last_served = 0.0
        self.reason = ""
        self._next_probe: float | None = None

    def heard(self, answered: bool = False) -> None:
        """Some HTTP answer came; `answered` when it was a 200."""
        self.last_answer = time.monotonic()
        if answered:
            self.served, self.last_served = True, self.last_answer
        self._next_probe = None

    def lost(self, reason: str) -> None:
        """A request used up its attempts and nobody else got through meanwhile."""
        self.reason = reason
        self._next_probe = time.monotonic() + PROBE_SECONDS

    def open(self) -> bool:
        """Whether to send: always while it answers, else once every few seconds to see whether it is back."""
        now = time.monotonic()
        if self._next_probe is None:
            return True
        if now < self._next_probe:
            return False
        self._next_probe = now + PROBE_SECONDS
        return True


def retry_after(value: str | None) -> float | None:
    """Seconds to wait by a Retry-After header, which holds seconds or a date; None without a usable one."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def elsewhere(address: str, location: str) -> str:
    """The address that a redirect from `address` names in its Location header, as it would have to be given."""
    try:
        whole = urljoin(f"{address.rstrip('/')}/chat/completions", location)
    except ValueError:
        return "…"
    return one_line(public(whole).removesuffix("/chat/completions"), 200)
