"""Run folders: files, journals, locks, claims and marks of one run."""
