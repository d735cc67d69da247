"""Subset proposals for review, and the reviewed proposals of a build.

Contract: `proposing.propose` writes a sheet (CSV) with evidence; only `reviewed.apply` puts questions into subsets, by
reviewers' decisions, runs or a draw. Missing evidence (a failed run, an unreadable annotation, an absent field) is
unknown, never a no.
"""
