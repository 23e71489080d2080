"""Stand-ins for a model, and ready-made plugin tests."""
