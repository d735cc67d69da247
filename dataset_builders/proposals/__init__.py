"""Machine proposals for human review: tags, subsets, translations, variants."""
