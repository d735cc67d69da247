"""Reading sources: rows, fields, texts, pictures; nothing here knows a benchmark."""
