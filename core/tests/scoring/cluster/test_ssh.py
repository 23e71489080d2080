"""Workers are started over SSH on a real server, and failures to start them are explained."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from brainscore_core.errors import ClusterError
from brainscore_core.scoring.cluster import run_on_cluster
from brainscore_core.testing.machine import free_port, wait_until

pytest.importorskip("distributed")
asyncssh = pytest.importorskip("asyncssh")
pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a home folder without keys or known hosts."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir(mode=0o700)
    return tmp_path


@pytest.fixture
def host(home, library):
    """Start an SSH server that accepts this user and where the library can be imported; skip the test without sshd."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if server is None:
        pytest.skip("other: no server of SSH here (Debian: apt install openssh-server)")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd confines itself there before a login
    for name in ("server", "id_ed25519"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(home / ".ssh" / name)
        key.write_public_key(home / ".ssh" / f"{name}.pub")
        (home / ".ssh" / name).chmod(0o600)
    port = free_port()
    (home / ".ssh/known_hosts").write_text(f"[127.0.0.1]:{port} {(home / '.ssh/server.pub').read_text()}")
    options = {
        "ListenAddress": "127.0.0.1",
        "AuthorizedKeysFile": home / ".ssh/id_ed25519.pub",
        "StrictModes": "no",  # a parent of the test's folder may be writable by others
        "PermitRootLogin": "prohibit-password",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "UsePAM": "no",
        "PidFile": "none",
        "SetEnv": f"PYTHONPATH={os.environ['PYTHONPATH']}",
    }
    given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    command = [server, "-D", "-e", "-f", "/dev/null", "-h", home / ".ssh/server", "-p", str(port), *given]
    with (home / "sshd.log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            wait_until(lambda: b"listening" in (home / "sshd.log").read_bytes() or process.poll() is not None)
            assert process.poll() is None, (home / "sshd.log").read_text()
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def test_campaign_runs_over_ssh(home, host, batches, library):
    """Two workers give every pair one score, and no process remains there afterwards."""
    hosts = home / "hosts.txt"
    hosts.write_text(f"{host}  # twice: two workers\n{host}\n")
    todo = batches(["waits-for-b1", "slow1", "a"], 2)
    made = []
    for each in run_on_cluster(todo, library.name, cluster=f"ssh:{hosts}"):
        made.append(each.record)
        if each.record.model != "waits-for-b1":  # it came from the other worker
            library.go()
    assert {record.status for record in made} == {"scored"}
    expected = sorted((pair.model, pair.benchmark) for batch in todo for pair in batch.pairs)
    assert sorted((record.model, record.benchmark) for record in made) == expected == sorted(library.begun_pairs())
    assert len({worker for *_, worker in library.begun()}) == 2
    library.wait_for_end()


def test_unreachable_host_is_reported(home, batches):
    hosts = home / "hosts.txt"
    hosts.write_text("no-such-host.invalid\n")
    with pytest.raises(ClusterError, match=r"No cluster could be started on no-such-host.invalid.*Log in"):
        list(run_on_cluster(batches(["a"]), "lively", cluster=f"ssh:{hosts}"))


def test_refused_login_is_reported(home, host, batches):
    (home / ".ssh/id_ed25519").unlink()
    (home / "hosts.txt").write_text(f"{host}\n")
    with pytest.raises(ClusterError, match=r"No cluster could be started on 127.0.0.1: .*Permission denied for user"):
        list(run_on_cluster(batches(["a"]), "lively", cluster=f"ssh:{home / 'hosts.txt'}"))
