"""Reports of runs: they show what scoring and verdicts state, computing no mark; everything is escaped and bounded."""
