"""Hold the package's version."""

__version__ = "3.0.0a1"
