"""A bound of processor time for a test that promises not to be slow: the load of the machine does not count."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fails where the block takes more processor time of this process."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds
