"""Numbered schema changes of server.db, applied in order; a file once released never changes."""
