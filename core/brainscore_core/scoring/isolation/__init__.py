"""Keep what scores a model apart from the model: what a program in a box sees, and how the two speak."""
