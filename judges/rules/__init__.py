"""Rules: decisions without a model, one stage each, and the trees, units and numbers that they read."""
