"""Tests shared by plugins of one design: each sets its own facts and inherits them.

==================== =========================================================
`label_accuracy`     which category of ImageNet an image shows
`natural_scenes`     fMRI of natural scenes, in voxels and on the surface
`published_networks` networks with published weights
==================== =========================================================
"""
