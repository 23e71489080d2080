"""Test where files can be written."""

import os
import tempfile
from pathlib import Path

import pytest

from brainscore_core.errors import ConfigurationError
from brainscore_core.files import check_writable


def test_a_read_only_folder_is_refused():
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder, is_root = Path(name), os.geteuid() == 0
        folder.chmod(0o555)
        os.seteuid(65534 if is_root else os.geteuid())  # root may write everywhere
        try:
            with pytest.raises(ConfigurationError, match=f"{name} is read-only. Name another place"):
                check_writable(folder / "new/x.csv")
        finally:
            os.seteuid(os.getuid())
            folder.chmod(0o700)
        check_writable(folder / "new/x.csv")
        assert list(folder.iterdir()) == []
