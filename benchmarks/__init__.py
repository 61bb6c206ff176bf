"""Measurements of the program itself; each prints absolute figures beside its ratios."""
