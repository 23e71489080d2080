"""Move bytes between S3 and this machine: ``download``, ``upload``, ``unzip``; ``disk``: what packaging writes."""
