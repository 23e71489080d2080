"""Check stimuli and measurements; every check returns a list of problems.

Two floors, so that arrows point one way:

- below `brainscore_core.supported_data_standards`, which checks what it packages: ``problem`` (what a check finds),
  ``standards`` (names, and what each class requires), ``assemblies`` and ``stimuli`` (data in memory), ``media``
  (whether a stimulus file is whole). They know plain xarray and pandas only.
- above it: ``files`` (packaged files), which loads what it checks, and ``targets`` (files, folders, plugins and
  identifiers that a person names), which finds them through `brainscore_core.plugin_management`.
"""
