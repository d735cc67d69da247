"""The spine: records, engines, run folders, scoring, statistics."""
