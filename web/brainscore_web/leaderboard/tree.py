"""Order benchmarks and averages as the board shows them, and name their files."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from brainscore_web.leaderboard.catalogue import ROOTS, BenchmarkEntry, Catalogue, NodeEntry

UNAVERAGED = ("simulated", "other")
"""Roots without an average."""

_OTHERS = re.compile(r"^\.|[^A-Za-z0-9._-]")
_LONGEST = 150


@dataclass(frozen=True)
class Node:
    """A node of the tree: a benchmark (leaf) or the average of its children.

    Attributes
    ----------
    parent
        Place of the node above; -1 for a root.
    counts
        Whether the average above includes it.
    metric
        Summary of its metric; None for an average.
    """

    identifier: str
    slug: str
    name: str
    parent: int
    depth: int
    leaf: bool
    counts: bool
    region: str | None = None
    kind: str | None = None
    public: bool = True
    simulated: bool = False
    metric: str | None = None


def tree_of(catalogue: Catalogue, *, simulated: Collection[str] = (), scored: Collection[str] = ()) -> list[Node]:
    """Return all nodes with a benchmark below them, depth first; roots with scores come first.

    The catalogue and `simulated` name simulated benchmarks. Only those in `scored`, with a score that may be shown,
    count.
    """
    entries: dict[str, BenchmarkEntry | NodeEntry] = {
        name: NodeEntry(identifier=name, name=title) for name, title in ROOTS.items()
    }
    entries |= {node.identifier: node for node in catalogue.nodes}
    entries |= {benchmark.identifier: benchmark for benchmark in catalogue.benchmarks}
    below: dict[str | None, list[str]] = {}
    are_simulated = set()
    for entry in entries.values():
        parent = entry.parent
        if isinstance(entry, BenchmarkEntry):
            if entry.simulated or entry.identifier in simulated:
                parent = "simulated"
                are_simulated.add(entry.identifier)
            elif parent is None:
                parent = "other"
        if not (parent is None and entry.identifier in ROOTS):
            below.setdefault(parent, []).append(entry.identifier)
    roots = [*ROOTS, *below.get(None, ())]
    leaves = {entry.identifier for entry in catalogue.benchmarks}
    with_leaf, with_scores = (_with_leaf(roots, below, names) for names in (leaves, scored))
    roots.sort(key=lambda root: root not in with_scores)
    slug_of = slugs(with_leaf)
    nodes: list[Node] = []
    stack = [(root, -1) for root in reversed([root for root in roots if root in with_leaf])]
    while stack:
        identifier, parent_place = stack.pop()
        entry = entries[identifier]
        above = None if parent_place < 0 else nodes[parent_place]
        inherited_region = None if above is None else above.region
        nodes.append(
            Node(
                identifier,
                slug_of[identifier],
                entry.name or identifier,
                parent_place,
                0 if above is None else above.depth + 1,
                identifier in leaves,
                False,
                entry.region or inherited_region,
                entry.kind or (None if above is None else above.kind),
                entry.public if isinstance(entry, BenchmarkEntry) else True,
                identifier in are_simulated or identifier == "simulated",
                entry.metric if isinstance(entry, BenchmarkEntry) else None,
            )
        )
        stack += [(child, len(nodes) - 1) for child in reversed(below.get(identifier, [])) if child in with_leaf]
    return _counted(nodes, scored)


def _with_leaf(roots: Iterable[str], below: Mapping[str | None, list[str]], leaves: Collection[str]) -> dict[str, None]:
    with_leaf: dict[str, None] = {}

    def visit(name: str) -> bool:
        has_leaf = [visit(child) for child in below.get(name, ())]  # a list, since `any` would stop early
        if name in leaves or any(has_leaf):
            with_leaf[name] = None
        return name in with_leaf

    for root in roots:
        visit(root)
    return with_leaf


def _counted(nodes: list[Node], scored: Collection[str]) -> list[Node]:
    counts = [False] * len(nodes)
    averaged = [_root(nodes, place) not in UNAVERAGED for place in range(len(nodes))]
    for place in range(len(nodes) - 1, -1, -1):
        node = nodes[place]
        if node.leaf:
            counts[place] = averaged[place] and node.identifier in scored
        if counts[place] and node.parent >= 0:
            counts[node.parent] = True
    return [Node(**{**vars(node), "counts": counts[place]}) for place, node in enumerate(nodes)]


def _root(nodes: list[Node], place: int) -> str:
    while nodes[place].parent >= 0:
        place = nodes[place].parent
    return nodes[place].identifier


def top_of(nodes: list[Node]) -> list[int]:
    """Return the nodes whose columns a page needs at once: averages of three levels, and leaves of the first root."""
    return [place for place, node in enumerate(nodes) if (node.parent <= 0 if node.leaf else node.depth < 3)]


def slugs(identifiers: Iterable[str]) -> dict[str, str]:
    """Return file names that are unique, even on a disk that ignores case.

    Characters outside ``[A-Za-z0-9._-]`` become ``~`` and the hexadecimal bytes of their UTF-8, as do capitals of names
    that differ only in case. Long names end in a digest.
    """
    plain = {name: _encoded(name, _OTHERS) for name in dict.fromkeys(identifiers)}
    folded = Counter(slug.casefold() for slug in plain.values())
    names = {}
    for name, slug in plain.items():
        unique = _encoded(slug, re.compile("[A-Z]")) if folded[slug.casefold()] > 1 else slug
        if len(unique) > _LONGEST:
            unique = (
                f"{unique[: _LONGEST - 20]}~{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
            )
        names[name] = unique
    return names


def _encoded(name: str, which: re.Pattern[str]) -> str:
    def bytes_of(match: re.Match[str]) -> str:
        return "".join(f"~{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))

    return which.sub(bytes_of, name)
