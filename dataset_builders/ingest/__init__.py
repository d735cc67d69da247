"""Exam papers from PDF to questions that a person confirms.

    PDF ──extract──▶ blocks ──segment──▶ drafts ──keys, tags──▶ drafts ──review──▶ questions

Contract: a step that is not sure says so as a doubt of the draft and never fills in. A PDF is hostile: its pages, sizes
and pictures are bounded, and a paper that cannot be read costs one line.
"""
