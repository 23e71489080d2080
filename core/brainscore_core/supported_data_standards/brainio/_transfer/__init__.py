"""Move bytes between S3 and this machine: ``download`` (with ``partial``), ``upload`` and ``unzip``."""
