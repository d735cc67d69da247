"""Local web pages: addresses, access guard, shared static files."""
