"""Tag proposals for review (LiveK12Bench, section 2.2; MDK12-Bench, "Knowledge Taxonomy"; CFE-Bench, 3.3 and 5.1)."""
