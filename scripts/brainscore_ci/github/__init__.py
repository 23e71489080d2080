"""Use GitHub's REST interface."""
