"""Translates questions with a model, and checks that nothing an answer depends on was lost.

    drafts ──▶ texts (those in Chinese or Korean) ──▶ model ──▶ checks ──▶ retries ──▶ drafts in English, for review

Contract: a translation counts only if the checks find nothing; one that fails is asked for again, a bounded number of
times, with its faults named, and then stays untranslated with a doubt that names them. Checks see numbers, formulas,
symbols, figures, blanks, labels and parts; they do not see meaning: every translation is for review.
(LiveK12Bench, section 2.1; MDK12-Bench, "Data Processing".)
"""
