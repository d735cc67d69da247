"""Models run by transformers in this process."""
