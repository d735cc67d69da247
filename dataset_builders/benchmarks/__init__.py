"""Benchmark readers, one folder each: source rows to Questions."""
