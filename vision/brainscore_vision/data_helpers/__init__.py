"""Help to write data plugins.

=============== ==================================================
`bucket`        the files of a data set in S3, with their digests
`image_folders` stimuli in a folder of the user
`citations`     citations that other plugins state
=============== ==================================================
"""

from brainscore_vision.data_helpers.bucket import Bucket
from brainscore_vision.data_helpers.citations import cite_data, cite_plugin

__all__ = ["Bucket", "cite_data", "cite_plugin"]
