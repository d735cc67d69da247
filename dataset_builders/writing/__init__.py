"""Writing datasets: Parquet, card, statistics, releases, and validation."""
