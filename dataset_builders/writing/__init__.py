"""Writing data sets: Parquet, card, statistics, releases, and the check of what was written."""
