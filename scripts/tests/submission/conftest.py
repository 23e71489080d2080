"""Provide zip files with the contents that scientists submit."""

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
    """Writes zip files, including ones that ordinary programs do not write."""

    def __call__(self, files, *, compression=zipfile.ZIP_DEFLATED, modes=None):
        """Return a zip file from {name: text or bytes}, or from (name, content) pairs."""
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", compression) as archive:
            for name, content in files.items() if isinstance(files, dict) else files:
                info = zipfile.ZipInfo("x", (2026, 1, 1, 0, 0, 0))
                info.filename = info.orig_filename = name  # the constructor would correct some names
                info.compress_type = compression
                usual = stat.S_IFDIR | 0o755 if name.endswith("/") else stat.S_IFREG | 0o644
                info.external_attr = (modes or {}).get(name, usual) << 16
                archive.writestr(info, content)
        return stream.getvalue()

    def plugin(self, folder="benchmarks/myexperiment2024", /, **more):
        """Return a zip file with a plugin; `more` adds or replaces files by their path in the plugin."""
        return self({f"{folder}/{name}": text for name, text in {**PLUGIN, **more}.items()})


@pytest.fixture
def pack():
    return Packer()


@pytest.fixture
def plugin_files():
    return dict(PLUGIN)
