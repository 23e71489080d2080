"""Published code imports from below here."""
