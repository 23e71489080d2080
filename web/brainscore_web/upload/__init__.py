"""Upload packaged data to a portal from the terminal, and resume where it stopped."""
