"""One folder a benchmark: how a row of its source becomes a Question."""
