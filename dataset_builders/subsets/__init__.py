"""Proposes members of subsets for review, and reads the reviewed proposals back."""
