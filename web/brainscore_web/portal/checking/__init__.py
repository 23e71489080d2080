"""Check uploads: a worker outside of the box publishes, a program within it opens the files."""

PLACES = "published.json"
"""Beside the files for the program: file name -> ``bucket`` and ``version_id``, as `new-plugin` reads it."""
