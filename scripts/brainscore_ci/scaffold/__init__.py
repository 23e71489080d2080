"""Start a plugin: a folder whose tests pass; checks find what people still have to fill in."""
