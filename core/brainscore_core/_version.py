"""Hold the version of the package."""

__version__ = "3.0.0a1"
