"""Born-digital pages as blocks in reading order."""
