"""Check uploads: a worker outside of the box, which publishes, and the program within it, which opens the files."""
