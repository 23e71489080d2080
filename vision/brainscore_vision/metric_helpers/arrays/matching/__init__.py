"""Match single neuroids of two sides, on training stimuli, and say how alike those matched are on others."""
