"""Duplicate and variant questions, by texts and figures.

Contract: questions are compared within one language, by stem and options, without numbering, typesetting, punctuation
and the order of options. They are near if at least `THRESHOLD` of their character shingles are shared with all numbers
masked (exact Jaccard for the pairs that MinHash proposes). A near pair is a *duplicate* unless it is a *variant*: its
numbers differ; the end of the stem or the options have less than half in common (another question on the same passage);
texts and right option differ; or the text is so short that the figures carry the question, and no figure is shared.
Questions that are not near but show the same figure are variants too.

`find_pairs` takes a million questions (`Library`), `DuplicateIndex` one after the other, with equal results. In a crowd
of near-identical questions each is compared with the first only, unless numbers or endings agree: see `joining.CROWD`.
Plain numpy: a library would bring scipy into the core.
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
