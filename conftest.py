"""Give every test its own empty homes, so that no test sees a person's caches or another test's."""

import pytest


@pytest.fixture(autouse=True)
def own_homes(tmp_path_factory, monkeypatch):
    """Point every home at a fresh folder and let no plugin install anything."""
    base = tmp_path_factory.mktemp("homes")
    monkeypatch.setenv("BRAINSCORE_HOME", str(base / "brain-score"))
    monkeypatch.setenv("BRAINIO_HOME", str(base / "brainio"))
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "no")
    monkeypatch.delenv("RESULTCACHING_DISABLE", raising=False)
    for name in ("BRAINSCORE_OFFLINE", "BRAINSCORE_MIRROR", "BRAINSCORE_MEMORY_MAP"):
        monkeypatch.delenv(name, raising=False)
    return base
