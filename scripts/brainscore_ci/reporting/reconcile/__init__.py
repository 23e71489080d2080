"""Keep the comments, labels and scores of pull requests up to date."""
