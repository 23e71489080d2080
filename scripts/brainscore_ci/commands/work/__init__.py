"""Do what the commands beside this room declare; imported when a command runs, as help has to be fast."""
