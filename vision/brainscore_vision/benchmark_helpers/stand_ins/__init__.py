"""Stand-ins for a model: stored features, a model shared by benchmarks, and ready-made plugin tests."""
