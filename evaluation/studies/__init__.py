"""Studies on run folders: how far marks agree, how stable they are."""
