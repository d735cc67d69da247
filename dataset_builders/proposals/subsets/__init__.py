"""Proposes members of subsets for review, and reads the reviewed proposals back.

Contract: `proposing.propose` writes a sheet (CSV) of proposals with their evidence; `reviewed.apply` marks what a
reviewer accepted in it, and what runs or a draw decided, and nothing
else ever puts a question into a subset. What cannot be told (a run that failed,
an annotation that cannot be read, a field the source lacks) is said to be unknown, never counted as a no.
"""
