"""The genuine small model of the engine tests serves as a judge here too."""

from tests.engines.conftest import cache, served, small_gguf

__all__ = ["cache", "served", "small_gguf"]
