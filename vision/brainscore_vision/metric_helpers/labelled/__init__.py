"""Turn assemblies into arrays and results into scores.

Assemblies of neurons have the dimensions (presentation, neuroid) in any order and the coordinate `stimulus_id`; a
`time_bin` of length one and neuroids that are NaN throughout are dropped. Those of behaviour have the dimension
presentation. Other faults of arguments raise AssemblyError.
"""
