"""Dataset-card templates: what all cards share, and those of several benchmarks in one data set."""
