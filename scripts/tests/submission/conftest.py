"""Provide zip files and what a scientist puts into them."""

import io
import stat
import zipfile

import pytest

PLUGIN = {
    "__init__.py": "from brainscore_vision import benchmark_registry\n",
    "benchmark.py": "VERSION = 1\n",
    "test.py": "def test_version():\n    assert 1 == 1\n",
}


class Packer:
    """Writes zip files, also those that no ordinary program writes."""

    def __call__(self, files, *, compression=zipfile.ZIP_DEFLATED, modes=None):
        """Return a zip file of {name: text or bytes}, or of pairs of them."""
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", compression) as archive:
            for name, content in files.items() if isinstance(files, dict) else files:
                info = zipfile.ZipInfo("x", (2026, 1, 1, 0, 0, 0))
                info.filename = info.orig_filename = name  # its constructor would mend some names
                info.compress_type = compression
                usual = stat.S_IFDIR | 0o755 if name.endswith("/") else stat.S_IFREG | 0o644
                info.external_attr = (modes or {}).get(name, usual) << 16
                archive.writestr(info, content)
        return stream.getvalue()

    def plugin(self, folder="benchmarks/myexperiment2024", /, **more):
        """Return a zip file with a plugin; further files, or others instead, by their path inside it."""
        return self({f"{folder}/{name}": text for name, text in {**PLUGIN, **more}.items()})


@pytest.fixture
def pack():
    return Packer()


@pytest.fixture
def plugin_files():
    return dict(PLUGIN)
