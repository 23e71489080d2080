"""Test plugins: help for plugin authors and for the command that runs their tests."""
