"""Talk to GitHub over its REST interface."""
