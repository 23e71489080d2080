"""Read plugin source without running it."""
