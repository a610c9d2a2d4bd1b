"""What runs mean: pure functions over what a run shows; no files, no clocks, the same input gives the same answer."""
