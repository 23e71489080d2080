"""Base classes of metrics and ceilings in several plugins."""
