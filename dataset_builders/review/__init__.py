"""Human review of ingested questions: a journal of actions, a page to work on, an export.

Contract: the journal (`.ingest/reviews-*.jsonl`) is the truth; all views replay it over the ingested papers. Each
reviewer has a copy of every question, for comparison; splits and merges are common to all.
"""
