"""Fixtures that several test folders share."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """Return a function that mounts a small memory disk with options; skip the test if mounting is not permitted."""
    mounted = []

    def mount(options):
        folder = tmp_path / f"disk{len(mounted)}"
        folder.mkdir()
        if sys.platform != "linux" or os.geteuid() != 0:
            pytest.skip("mounting a small disk needs root on Linux")
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("mounting a small disk is not permitted here")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)
