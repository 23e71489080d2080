"""Keep the coordinates of assemblies in indexes; ``fold`` them into these, ``select`` by labels, group."""
