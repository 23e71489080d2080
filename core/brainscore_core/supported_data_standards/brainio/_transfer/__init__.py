"""Move bytes between S3 and this machine: ``download`` (into a ``partial`` file), ``upload`` and ``unzip``."""
