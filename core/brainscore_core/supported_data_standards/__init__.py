"""Hold the data standards that benchmarks may use; BrainIO is the first."""
