"""Keep the result of scoring a model on a benchmark: one JSON file per pair, its values and its history."""
