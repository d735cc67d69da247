"""The `livek12` command and the benchmarks."""
