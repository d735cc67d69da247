"""Scanned pages as blocks in reading order, by OCR."""
