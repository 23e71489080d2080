"""Keep an assembly's coordinates in indexes: ``coordinates`` reads and selects, ``levels`` factorises, ``grouping``."""
