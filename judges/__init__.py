"""Judges: the rules (`rules/`), and judge models for what these leave open (`llm/`)."""
