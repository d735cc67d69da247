"""What people run: the `livek12` command, sweeps and benchmarks."""
