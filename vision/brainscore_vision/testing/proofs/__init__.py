"""Prove benchmarks of several plugins that are of one design: each says what is its own, and inherits the tests.

================ =========================================================
`label_accuracy` which category of ImageNet an image shows
`natural_scenes` fMRI of natural scenes, in voxels and on the surface
================ =========================================================
"""
