"""Report the results of tests and scores."""
