"""HiPhO: problems of physics olympiads of 2024 and 2025, as a benchmark outside livek12."""
