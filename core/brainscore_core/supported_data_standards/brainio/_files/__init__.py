"""Write data to files and read them back: assemblies (``netcdf``, ``loaders``) and stimulus sets (``stimulus_*``).

``registration_code`` writes code for a data plugin.
"""
