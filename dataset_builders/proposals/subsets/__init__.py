"""Subset proposals for review, and reviewed proposals for a build.

Contract: missing evidence (a failed run, an unreadable annotation, an absent field) is unknown, never a no.
"""
