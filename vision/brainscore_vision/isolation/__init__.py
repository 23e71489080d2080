"""Score an unreviewed model: the candidate runs in its own process, and the judge asks it."""
