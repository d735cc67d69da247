"""Finds questions that are the same question again, or variants of it: by their texts and by their figures.

Contract: two questions are compared in one language only (a translation is no duplicate), by what a candidate reads:
stem and options, without numbering, typesetting and punctuation, whatever the order of the options. They are near
each other where at least `THRESHOLD` of their character shingles are shared, all numbers taken for one (Jaccard,
computed exactly for the pairs that MinHash proposes). A near pair is a *duplicate*, unless something tells it apart,
which makes it a *variant*: its numbers differ (the same stem with other numbers has another key); it asks something
else (the end of the stem, or the options, have less than half in common: another question on the same passage); the
texts differ and so does the right option; or its text is so short that the figures carry the question, and no figure
is shared. Two questions that are not near but show the same figure are variants too. A variant is worth a person's
look and no more.

`find_pairs` takes a million questions (`Library`), `DuplicateIndex` one after the other; both find the same. Of a
crowd of near-identical questions each is compared with the first only, unless they are alike in numbers or ask as
well: see `joining.CROWD`. All of it is numpy: a library would bring scipy into the core.
"""

from __future__ import annotations

from livek12.dataset_builders.duplicates.comparing import THRESHOLD
from livek12.dataset_builders.duplicates.figures import distance
from livek12.dataset_builders.duplicates.finding import DuplicateIndex, Match, Pairs, find_pairs
from livek12.dataset_builders.duplicates.joining import CROWD
from livek12.dataset_builders.duplicates.library import Library, sketch
from livek12.dataset_builders.duplicates.stems import SHORT, Stem, stem, stem_of

__all__ = [
    "CROWD",
    "SHORT",
    "THRESHOLD",
    "DuplicateIndex",
    "Library",
    "Match",
    "Pairs",
    "Stem",
    "distance",
    "find_pairs",
    "sketch",
    "stem",
    "stem_of",
]
