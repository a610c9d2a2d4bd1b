"""Numbered schema changes of the PostgreSQL index, applied in order; a file once released never changes."""
