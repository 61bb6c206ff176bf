"""Rules about silicon: pure functions from facts to widths, masks, variants and bounds."""
