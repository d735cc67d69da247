"""The report of a run: `terminal` prints the summary, `html` writes the graded paper.

Contract: both only show what scoring and the verdicts say; neither computes a mark. Everything shown is escaped
and bounded, because questions, answers and judges' words come from outside.
"""
