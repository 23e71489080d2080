"""Score an unreviewed model: the candidate runs in a process of its own, and the judge asks it."""
