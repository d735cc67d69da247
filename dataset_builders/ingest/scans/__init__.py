"""Scanned pages: pictures as blocks in reading order, by OCR."""
