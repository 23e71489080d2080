"""Keep the coordinates of assemblies in indexes: ``fold`` them into these, ``select`` by their labels, group by them.

``coordinates`` reads them, ``levels`` factorises values, ``grouping`` applies functions to groups of entries.
"""
