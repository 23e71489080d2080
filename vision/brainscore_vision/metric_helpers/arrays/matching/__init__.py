"""Match single neuroids of two sides on training stimuli, and compare the matched ones on others."""
