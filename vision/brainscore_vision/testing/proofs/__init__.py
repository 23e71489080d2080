"""Tests shared by benchmarks of one design: each plugin sets its own facts and inherits them.

================ =========================================================
`label_accuracy` which category of ImageNet an image shows
`natural_scenes` fMRI of natural scenes, in voxels and on the surface
================ =========================================================
"""
