"""Benchmarks, cards and training: run from a checkout, in no wheel."""
