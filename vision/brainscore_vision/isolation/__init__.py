"""Score an unreviewed model: a judge asks the candidate, in its own process."""
