"""Born-digital pages: what the PDF draws and sets, as blocks in reading order."""
