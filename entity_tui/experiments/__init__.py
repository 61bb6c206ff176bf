"""What is tried: arms, plans, the loop that follows a run, and one file per experiment."""
