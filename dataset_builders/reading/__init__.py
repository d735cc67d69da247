"""Reading sources: rows, fields, texts, pictures; independent of any benchmark."""
