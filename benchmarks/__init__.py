"""Side-by-side measurements: ratios and differences in one process, never absolute times."""
