"""Digest the ingredients of a score: data, plugins, model objects, weights and preprocessing."""
