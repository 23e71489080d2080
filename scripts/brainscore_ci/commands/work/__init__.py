"""Run the commands that the modules above declare, which stay light for help."""
