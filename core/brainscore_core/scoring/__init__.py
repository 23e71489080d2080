"""Run pairs of model and benchmark and keep their records."""
