"""Question variants for MDK12-Bench's dynamic evaluation: other pictures and other words.

Contract: draws depend on seed and question id. A variant is complete, or dropped with a reason. (MDK12-Bench, "Dynamic
evaluation".)
"""
