"""Check uploads: a worker outside of the box, which publishes, and the program within it, which opens the files."""

PLACES = "published.json"
"""Beside the files for the program: file name -> ``bucket`` and ``version_id``, as `new-plugin` reads it."""
