"""Question variants for MDK12-Bench's dynamic evaluation: other pictures and other words."""
