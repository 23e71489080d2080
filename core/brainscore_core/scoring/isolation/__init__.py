"""Separate a judge from the model: boxes for programs, and messages between both."""
