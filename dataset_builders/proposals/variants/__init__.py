"""Variants of questions for MDK12-Bench's dynamic evaluation: the same exam in other pictures and other words.

    questions ──▶ half are drawn ──▶ one transform of the pictures, one of the text ──▶ judge ──▶ config dynamic

Contract: what is drawn follows from the seed and the question's id alone. A variant is whole or it is left out, with
the reason on one line; nothing is passed off as a transform that was not made. (MDK12-Bench, "Dynamic evaluation".)
"""
