"""Numbered schema changes of the SQLite index, applied in order; a file once released never changes."""
