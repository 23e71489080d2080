"""Check one plugin without importing it: every problem, its place, and its fix."""
