"""What every front end may ask for: each function is one use of the house, free of printing."""
