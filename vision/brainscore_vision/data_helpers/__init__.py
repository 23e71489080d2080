"""Help to write data plugins: say where files are, and what is done with what is in them.

=============== ============================================================
`bucket`        the files of a data set in S3, declared by their digests
`image_folders` stimuli in a folder that the user has
=============== ============================================================
"""

from brainscore_vision.data_helpers.bucket import Bucket

__all__ = ["Bucket"]
