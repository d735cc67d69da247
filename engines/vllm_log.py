"""The log of vLLM's processes on its way to the screen: keeps lines below errors off it, reads the stage of the start.

Contract: whatever is no line of vLLM's log passes unchanged, and at once unless it may become one; a line of the log
passes whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_COLOUR = rb"(?:\x1b\[[\d;]*m)*"
_LINE = re.compile(
    _COLOUR
    + rb"\([^()\n]{1,80} pid=\d+\)"
    + _COLOUR
    + b" "
    + _COLOUR
    + rb"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\b"
)
_BEGINNING = re.compile(_COLOUR + rb"\([^)\n]{0,80}(?:\)|$)")
_LONGEST = 1 << 16
_STAGES: tuple[tuple[re.Pattern[bytes], str, str], ...] = tuple(
    (re.compile(pattern), name, words)
    for pattern, name, words in (
        (rb"Initializing a V1 LLM engine", "device", "vLLM opens the device"),
        (rb"Starting to load model|Loading model from scratch", "weights", "vLLM loads the weights"),
        (rb"Model loading took", "memory", "vLLM measures memory"),
        (rb"Starting torch\.compile", "compile", "vLLM compiles the model"),
        (rb"torch\.compile took", "memory", "vLLM measures memory"),
        (rb"Profiling CUDA graph memory|Capturing CUDA graphs", "graphs", "vLLM captures graphs"),
        (rb"Graph capturing finished|Warming up", "warm-up", "vLLM warms up"),
        (rb"init engine \(", "ready", "vLLM gets ready"),
    )
)
"""Words of vLLM 0.32 with which a stage begins."""


def level_to_hear(environment: Mapping[str, str]) -> str | None:
    """The level at which vLLM's processes have to log for their stages to be heard; None: as they are set.

    Where only errors are wanted, the lines below can be kept off the screen. Any other setting is somebody's wish.
    """
    own = environment.get("VLLM_LOGGING_PREFIX") or environment.get("VLLM_LOGGING_CONFIG_PATH")
    return "INFO" if environment.get("VLLM_LOGGING_LEVEL", "").upper() == "ERROR" and not own else None


class VllmLog:
    """Takes what processes write, piece by piece.

    Args:
        hides: whether lines below errors are kept off the screen.
        begin: called with the name and the words of each stage that begins.
    """

    def __init__(self, hides: bool, begin: Callable[[str, str], None]) -> None:
        self._hides, self._begin = hides, begin
        self._kept = b""
        self._middle = False

    def feed(self, piece: bytes) -> bytes:
        """What of it goes on to the screen now."""
        shown = bytearray()
        *lines, rest = (self._kept + piece).split(b"\n")
        self._kept = b""
        for line in lines:
            shown += self._line(line + b"\n")
            self._middle = False
        if rest:
            self._tell(rest)
            if _BEGINNING.match(rest) and len(rest) < _LONGEST:
                self._kept = rest
            else:
                shown += rest
                self._middle = True
        return bytes(shown)

    def end(self) -> bytes:
        """What was kept of an unfinished line."""
        kept, self._kept = self._kept, b""
        return kept

    def _line(self, line: bytes) -> bytes:
        """The line, or nothing; also where it follows a bar that did not end its line."""
        self._tell(line)
        written = _LINE.match(line)
        return b"" if self._hides and written and written["level"] in (b"DEBUG", b"INFO", b"WARNING") else line

    def _tell(self, text: bytes) -> None:
        for pattern, name, words in _STAGES:
            if pattern.search(text):
                self._begin(name, words)
