"""Change the tables of a portal from version to version."""
