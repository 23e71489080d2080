"""Fetch files once: from the disk, a mirror folder, or a server that a bringer of bytes (HTTP, S3) reads."""
