"""The tree of the leaderboard; inner nodes average over their children.

``hierarchy.toml`` gives the node above each inner node. A benchmark is a leaf below its ``parent``.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from brainscore_core.errors import UnknownIdentifierError, did_you_mean

__all__ = ["ROOT", "children", "nodes", "parents", "path_to"]

ROOT = "average_vision"
_FILE = Path(__file__).with_name("hierarchy.toml")


@cache
def _above() -> dict[str, str]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def nodes() -> list[str]:
    """Return all inner nodes, each after its parent."""
    return [ROOT, *_above()]


def path_to(node: str) -> tuple[str, ...]:
    """Return the inner nodes from the root to a node, both included; `UnknownIdentifierError` if it is absent.

    Examples
    --------
    >>> path_to("V1")
    ('average_vision', 'neural', 'V1')
    """
    path = [node]
    while path[-1] != ROOT:
        if path[-1] not in _above():
            hint = did_you_mean(path[-1], nodes())
            raise UnknownIdentifierError(
                f"The hierarchy of benchmarks has no node {path[-1]!r}.{hint} To add one, add a line to {_FILE.name}."
            )
        path.append(_above()[path[-1]])
    return tuple(reversed(path))


def children(node: str) -> list[str]:
    """Return the inner nodes directly below a node, in order; see `path_to` for errors."""
    path_to(node)
    return [below for below, above in _above().items() if above == node]


def parents(benchmarks: Mapping[str, str | None]) -> dict[str, str]:
    """Return the node above each benchmark and above each of its ancestors, as `average_tree` takes them.

    `benchmarks` map to their `parent`; None is in no average. See `path_to` for errors.

    Examples
    --------
    >>> parents({"Some.V1-pls": "V1", "Other": None})
    {'Some.V1-pls': 'V1', 'V1': 'neural', 'neural': 'average_vision'}
    """
    above = {benchmark: parent for benchmark, parent in benchmarks.items() if parent is not None}
    for parent in list(dict.fromkeys(above.values())):
        path = path_to(parent)
        above.update(zip(reversed(path[1:]), reversed(path[:-1]), strict=True))
    return above
