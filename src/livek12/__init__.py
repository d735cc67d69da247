"""livek12: exam benchmarks for language and multimodal models, native to the Hugging Face ecosystem."""

__version__ = "0.1.0"
