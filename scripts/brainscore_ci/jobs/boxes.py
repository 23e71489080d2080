"""List the changes that a GitHub runner needs to run programs in boxes (`brainscore_core.scoring.isolation`)."""

from __future__ import annotations

import shutil
from pathlib import Path

PROFILE = """abi <abi/4.0>,
include <tunables/global>
profile bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
  include if exists <local/bwrap>
}
"""
"""AppArmor profile of bubblewrap, as Ubuntu 25.04 ships it."""

_RESTRICTION = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_PROFILES = "etc/apparmor.d"


def profile_needed(root: Path) -> bool:
    """Return whether the system below `root` restricts namespaces and has no profile that exempts bubblewrap."""
    restriction = root / _RESTRICTION
    if not restriction.is_file() or restriction.read_text("ascii").strip() != "1":
        return False
    return not any((root / _PROFILES).glob("bwrap*"))


def steps_to_boxes(*, profile_needed: bool) -> list[tuple[list[str], str]]:
    """Return the missing commands that make boxes possible, each with its input."""
    install = ["sudo", "apt-get", "install", "--yes", "--no-install-recommends", "bubblewrap"]
    steps = [] if shutil.which("bwrap") else [(["sudo", "apt-get", "update"], ""), (install, "")]
    if profile_needed:
        file = f"/{_PROFILES}/bwrap"
        steps += [(["sudo", "tee", file], PROFILE), (["sudo", "apparmor_parser", "--replace", file], "")]
    return steps
