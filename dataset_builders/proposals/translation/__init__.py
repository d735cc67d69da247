"""Model translation of questions (LiveK12Bench, section 2.1; MDK12-Bench, "Data Processing")."""
