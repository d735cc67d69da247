"""Exam papers with gold, made by a seed, and the score of anyone's reading of them."""
