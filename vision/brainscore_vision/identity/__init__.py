"""Digest what a score of a vision model depends on: data, plugins, model objects, weights and preprocessing."""
