"""Data the rules read: arms, presets, runtimes, chips, thresholds, states, demo phones."""
