"""Publishes a built data set to the Hub and checks what is there."""
