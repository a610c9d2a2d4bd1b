"""Settings: where runs are kept, what the user asked for, what must not be written down."""
