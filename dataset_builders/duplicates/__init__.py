"""Duplicate and variant questions, by texts and figures.

Contract: questions are compared within a language, by stem and options, ignoring numbering, typesetting, punctuation
and option order. They are near if at least `THRESHOLD` of their character shingles agree with numbers masked (exact
Jaccard of the pairs from MinHash). A near pair is a *duplicate* unless it is a *variant*: its numbers differ; less than
half of the stems' ends or options agrees; texts and right option differ; or the text is short and no figure is shared.
Other pairs with a common figure are variants too.
"""
