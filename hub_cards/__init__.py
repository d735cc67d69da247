"""Dataset-card templates, one a data set."""
