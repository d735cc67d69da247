"""People confirm what `ingest` found: a store of their actions, a page to work on, an export of what they accepted.

Contract: the journal of actions (`.ingest/reviews-*.jsonl`) is the truth; everything shown is a replay of it over the
papers as ingested. Each reviewer has a copy of every question, so that two can be compared; splits and merges are
common.
"""
