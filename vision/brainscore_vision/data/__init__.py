"""Hold one plugin folder for each data set: its stimuli and its measurements."""
