"""Questions in a paper's stream of lines: numbers, sections, texts, points, types."""
