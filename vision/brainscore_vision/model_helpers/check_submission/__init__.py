"""Check models before they are submitted."""
