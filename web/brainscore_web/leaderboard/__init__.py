"""Build the leaderboard, a static site, from records of scores and a catalogue of models and benchmarks."""
