"""Digest the ingredients of a score."""
