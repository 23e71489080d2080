"""The arguments of bubblewrap, without running it."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.scoring.isolation.bubblewrap import Box, arguments_of, files_of, limits_of

NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda parts: Path("/data", *parts))


def arguments(box, root=Path("/nowhere")):
    return arguments_of(box, files={"/etc/passwd": 8}, filter_fd=9, root=root)


def test_every_box_has_namespaces_no_capabilities_and_a_filter():
    for network in (False, True):
        said = arguments(Box(network=network))
        for option in ("--unshare-all", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"):
            assert option in said
        assert said[said.index("--seccomp") + 1] == "9"
        assert said[said.index("--cap-drop") + 1] == "ALL"
        assert ("--share-net" in said) == network
        assert ("/etc/resolv.conf" in said) == network


def test_system_links_stay_links_and_folders_are_mounted(tmp_path):
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "lib").mkdir()
    said = " ".join(arguments(Box(), root=tmp_path))
    assert "--symlink usr/bin /bin --ro-bind /lib /lib --ro-bind-try" in said


def test_machine_wide_proc_files_are_covered(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "keys").touch()
    said = " ".join(arguments(Box(), root=tmp_path))
    assert "--proc /proc --ro-bind /dev/null /proc/keys --remount-ro /proc" in said


@given(st.sets(NAMES), st.sets(NAMES), st.sets(NAMES))
def test_innermost_folder_decides_the_access_of_a_path(readable, writable, hidden):
    """For equal paths, hidden takes precedence over writable and writable over readable."""
    said = arguments(Box(readable=tuple(readable), writable=tuple(writable), hidden=tuple(hidden)))
    mounts = [
        (Path(said[at + 1]), option) for at, option in enumerate(said) if option in ("--ro-bind", "--bind", "--tmpfs")
    ]
    mounts = [(path, option) for path, option in mounts if path.is_relative_to("/data")]
    for path in {*readable, *writable, *hidden}:
        lying_over = [(place, option) for place, option in mounts if path.is_relative_to(place)]
        expected = {
            *((place, "--tmpfs") for place in hidden),
            *((place, "--bind") for place in writable - hidden),
            *((place, "--ro-bind") for place in readable - writable - hidden),
        }
        above = [(place, option) for place, option in expected if path.is_relative_to(place)]
        in_sight = any(path.is_relative_to(place) for place in (*readable, *writable))
        assert not lying_over or not in_sight or lying_over[-1] == max(above, key=lambda each: len(each[0].parts))


def test_files_and_limits_follow_the_box():
    box = Box(environment={"HOME": "/weights"}, most_processes=7, most_file_bytes=8, most_open_files=9)
    assert files_of(box)["/etc/passwd"] == b"nobody:x:65534:65534:nobody:/weights:/usr/sbin/nologin\n"
    assert limits_of(box) == ["/usr/bin/prlimit", "--core=0", "--fsize=8", "--nofile=9", "--nproc=7", "--"]
