"""Write data to files and read them back: assemblies (``netcdf``, ``loaders``) and stimulus sets (``stimulus_*``).

``hdf5`` refuses files that are not safe to read, ``registration_code`` writes code for a data plugin.
"""
