"""Say what is wrong with stimuli and measurements; every check returns a list of problems.

Where to look: ``problem`` (what a check finds), ``assemblies``, ``stimuli``, ``media`` (stimulus files), ``files``
(packaged files) and ``targets`` (whatever a person names).
"""
