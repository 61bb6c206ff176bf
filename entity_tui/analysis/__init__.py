"""Numbers to verdicts: pure functions over records."""
