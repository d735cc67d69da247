"""Answer keys: entries, and matching them to questions."""
