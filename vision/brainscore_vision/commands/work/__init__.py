"""Run the commands; imported when one runs, since help must be fast."""
