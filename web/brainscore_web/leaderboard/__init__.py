"""Make the leaderboard, a static site, from records of scores and what is known of models and benchmarks besides."""
