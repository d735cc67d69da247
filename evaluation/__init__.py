"""The application: asks, marks and scores; imports, studies and sweeps."""
