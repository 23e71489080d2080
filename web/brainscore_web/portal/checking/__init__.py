"""Check uploads: a worker outside of the box publishes, a program within it opens the files."""

PLACES = "published.json"
"""Passed to the program with the files: file name -> ``bucket`` and ``version_id``, as `new-plugin` reads it."""
