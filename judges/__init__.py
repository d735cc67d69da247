"""Who decides: rules, symbolic equality, and the verdict they add up to."""
