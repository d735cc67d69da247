"""Questions in a paper's stream of lines: their numbers, sections, texts, points and types."""
