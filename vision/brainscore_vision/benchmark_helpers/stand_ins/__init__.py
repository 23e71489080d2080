"""Stand-ins for a model: stored features, one model shared by several benchmarks, and ready-made plugin tests."""
