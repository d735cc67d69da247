"""What decides without a model: each rule one stage, and the trees, units and numbers that they read."""
