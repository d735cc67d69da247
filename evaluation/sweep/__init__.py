"""Sweeps: many models on the same tasks, each as a `livek12 run` of its own, here, on Ray or on Slurm."""
