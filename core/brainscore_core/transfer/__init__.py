"""Fetch files once, from a mirror folder or a server, by HTTP or S3."""
