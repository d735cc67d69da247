"""Model translation of questions, with checks of everything that an answer depends on.

Contract: a translation counts only without faults; a faulty one is retried a bounded number of times with its faults
named, then dropped with a doubt. Checks do not cover meaning. (LiveK12Bench, section 2.1; MDK12-Bench, "Data
Processing".)
"""
