"""A bound of processor time for a test that promises not to be slow: the load of the machine does not count."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fails where the block takes more processor time of its thread.

    Threads and garbage that other tests left in the process do not count: nothing is collected meanwhile.
    """
    gc.disable()
    began = time.thread_time()
    try:
        yield
        taken = time.thread_time() - began
    finally:
        gc.enable()
    assert taken < seconds
