"""Run the commands that the modules above declare; imported when one runs, since help must be fast."""
