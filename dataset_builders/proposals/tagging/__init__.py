"""Proposes tags of questions: knowledge points of a tree, subject, difficulty, answer variables and reasoning flows.

    questions ──▶ features (n-grams, embeddings or a trained model) ──▶ scores of the tree's points ──▶ proposals

Contract: all of it is proposed and none of it decided: a proposal has a confidence that was measured on held-out
labelled questions, or none where there were no labels to measure it on, and lands in fields that a person reviews.
What a question states already is left as it is. (LiveK12Bench, section 2.2; MDK12-Bench, "Knowledge Taxonomy";
CFE-Bench, 3.3 and 5.1.)
"""
