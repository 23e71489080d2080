"""Designs of benchmarks on behaviour: labels, choices between two objects, and triplets."""
