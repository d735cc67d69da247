"""The page on which people label the answers of a run: right or wrong, marks, errors."""
