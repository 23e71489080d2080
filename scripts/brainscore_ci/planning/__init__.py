"""Decide what to test and score after a change; `plan` is the result."""
