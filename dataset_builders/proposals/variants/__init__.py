"""Question variants for MDK12-Bench's dynamic evaluation: other pictures and other words.

Half of the questions are drawn; each gets a transform of its pictures and one of its text, then a judge, then the
config `dynamic`.

Contract: draws depend on seed and question id. A variant is complete, or dropped with a reason. (MDK12-Bench, "Dynamic
evaluation".)
"""
