"""Tag proposals for review: knowledge points, subject, difficulty, answer variables and reasoning flows.

Contract: confidences are measured on held-out labelled questions, or None. Stated tags are kept. (LiveK12Bench, section
2.2; MDK12-Bench, "Knowledge Taxonomy"; CFE-Bench, 3.3 and 5.1.)
"""
