"""Requests in batches, answered within hours for about half the price."""
