"""Help to write data plugins."""

from brainscore_vision.data_helpers.bucket import Bucket
from brainscore_vision.data_helpers.citations import cite_data, cite_plugin

__all__ = ["Bucket", "cite_data", "cite_plugin"]
