"""Judges: rules (`rules/`), and models (`llm/`)."""
