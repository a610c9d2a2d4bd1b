"""The words of the house: measurements, runs, windows, events, and the view analysis may see."""
