"""Answer keys: their entries, and the question that each one is for."""
