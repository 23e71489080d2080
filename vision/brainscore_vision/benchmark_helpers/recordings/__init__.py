"""Record a model as the subjects were recorded, and prepare recordings."""
