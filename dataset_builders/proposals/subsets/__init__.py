"""Subset proposals for review, and reviewed proposals for a build.

Contract: only `reviewed.apply` puts questions into subsets. Missing evidence (a failed run, an unreadable annotation,
an absent field) is unknown, never a no.
"""
