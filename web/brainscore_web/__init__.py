"""Show scores in a browser."""
