"""Designs of benchmarks on recordings from one brain region."""
