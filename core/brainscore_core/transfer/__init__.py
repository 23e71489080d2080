"""Bring files from elsewhere: room on the ``disk``, ``partial`` files, what is known of a ``local`` copy, ``http``."""
