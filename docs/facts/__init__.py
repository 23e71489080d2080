"""Tables of the reference, each a module with `table`, which writes it as Markdown from what plugins state."""
