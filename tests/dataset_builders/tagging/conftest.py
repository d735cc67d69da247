"""The tiny models of the engine tests."""

from __future__ import annotations

from tests.engines.conftest import tiny_qwen3_vl, tiny_qwen25_vl

__all__ = ["tiny_qwen3_vl", "tiny_qwen25_vl"]
