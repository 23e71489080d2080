"""Score a model that nobody has looked at: the candidate runs in a process of its own, and the judge asks it."""
