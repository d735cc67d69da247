"""Human review of ingested questions: a journal of actions, a page, an export.

Contract: the journal (`.ingest/reviews-*.jsonl`) is the truth; views replay it over the papers. Each reviewer has a
copy of every question; splits and merges are common.
"""
