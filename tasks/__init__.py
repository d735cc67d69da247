"""Tasks: one folder a benchmark; shared prompts and extraction."""
