"""Tag proposals: knowledge points of a tree, subject, difficulty, answer variables and reasoning flows.

Questions are encoded (n-grams, embeddings or a trained model), then scored against the tree's points.

Contract: proposals are for review. Confidences are measured on held-out labelled questions, or None. Stated tags are
kept. (LiveK12Bench, section 2.2; MDK12-Bench, "Knowledge Taxonomy"; CFE-Bench, 3.3 and 5.1.)
"""
