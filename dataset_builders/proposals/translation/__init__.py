"""Model translation of questions, with checks of everything that an answer depends on.

Chinese or Korean texts of drafts are translated, checked, retried and written as English drafts for review.

Contract: a translation counts only without faults; a faulty one is retried a bounded number of times with its faults
named, then dropped with a doubt. Checks cover numbers, formulas, symbols, figures, blanks, labels and parts, not
meaning. (LiveK12Bench, section 2.1; MDK12-Bench, "Data Processing".)
"""
