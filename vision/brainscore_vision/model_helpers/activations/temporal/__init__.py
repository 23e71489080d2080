"""Read out models of video."""
