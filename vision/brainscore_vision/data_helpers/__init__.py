"""Help to write data plugins."""

from brainscore_vision.data_helpers.bucket import Bucket, cite_data, cite_plugin

__all__ = ["Bucket", "cite_data", "cite_plugin"]
