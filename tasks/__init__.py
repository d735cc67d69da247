"""Tasks: one folder a benchmark, and what all share (prompts, extraction)."""
