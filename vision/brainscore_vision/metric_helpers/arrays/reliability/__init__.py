"""Say how well measurements repeat, and which ceilings follow."""
