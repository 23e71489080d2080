"""Designs of benchmarks on behaviour."""
