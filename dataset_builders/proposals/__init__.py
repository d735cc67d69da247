"""What a program proposes and a person reviews: tags, subsets, translations."""
