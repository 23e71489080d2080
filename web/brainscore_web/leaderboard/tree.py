"""Order benchmarks and the nodes above them as the board shows them, and give each the name of its files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from brainscore_web.leaderboard.catalogue import ROOTS, BenchmarkEntry, Catalogue, NodeEntry

__all__ = ["UNAVERAGED", "Node", "slugs", "top_of", "tree_of"]

UNAVERAGED = ("simulated", "other")
"""Roots without an average."""

_OTHERS = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST = 150


@dataclass(frozen=True)
class Node:
    """A node of the tree: a benchmark (a leaf), or the average of what is right below it.

    Attributes
    ----------
    parent : int
        Place of the node above; -1 of a root.
    counts : bool
        Whether the node above averages over it.
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


def tree_of(catalogue: Catalogue, *, simulated: Collection[str] = (), scored: Collection[str] = ()) -> list[Node]:
    """Return all nodes with a benchmark below them, depth first, each behind the one above it; roots with scores first.

    Parameters
    ----------
    simulated : collection of str
        Benchmarks whose records say so, beside those of the catalogue.
    scored : collection of str
        Benchmarks on which a model has a score that may be shown: only these count.
    """
    entries: dict[str, BenchmarkEntry | NodeEntry] = {
        name: NodeEntry(identifier=name, name=title) for name, title in ROOTS.items()
    }
    entries |= {each.identifier: each for each in catalogue.nodes}
    entries |= {each.identifier: each for each in catalogue.benchmarks}
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
    leaves = {each.identifier for each in catalogue.benchmarks}
    kept, with_scores = (_with_leaf(roots, below, names) for names in (leaves, scored))
    roots.sort(key=lambda root: root not in with_scores)
    named = slugs(kept)
    nodes: list[Node] = []
    stack = [(root, -1) for root in reversed([root for root in roots if root in kept])]
    while stack:
        identifier, parent_place = stack.pop()
        entry = entries[identifier]
        above = None if parent_place < 0 else nodes[parent_place]
        inherited_region = None if above is None else above.region
        nodes.append(
            Node(
                identifier,
                named[identifier],
                entry.name or identifier,
                parent_place,
                0 if above is None else above.depth + 1,
                identifier in leaves,
                False,
                entry.region or inherited_region,
                entry.kind or (None if above is None else above.kind),
                entry.public if isinstance(entry, BenchmarkEntry) else True,
                identifier in are_simulated or identifier == "simulated",
            )
        )
        stack += [(child, len(nodes) - 1) for child in reversed(below.get(identifier, [])) if child in kept]
    return _counted(nodes, scored)


def _with_leaf(roots: Iterable[str], below: Mapping[str | None, list[str]], leaves: Collection[str]) -> dict[str, None]:
    """Return the nodes that are among `leaves` or have one of them below them."""
    kept: dict[str, None] = {}

    def visit(name: str) -> bool:
        # A list, not a generator: all are visited.
        found = [visit(child) for child in below.get(name, ())]
        if name in leaves or any(found):
            kept[name] = None
        return name in kept

    for root in roots:
        visit(root)
    return kept


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
    """Return which columns a page needs at once: roots, what stands right below them, and nodes below those."""

    def is_top(node: Node) -> bool:
        if node.depth == 1 and nodes[node.parent].identifier == "other":
            return not node.leaf or node.parent == 0  # where nothing else has scores
        return node.depth < 2 or (node.depth == 2 and not node.leaf)

    return [place for place, node in enumerate(nodes) if is_top(node)]


def slugs(identifiers: Iterable[str]) -> dict[str, str]:
    """Return the name of each one's files: no two are equal, also where the disk takes no notice of case.

    ``[A-Za-z0-9._-]`` are kept, anything else is ``~`` and the hexadecimal bytes of its UTF-8; so are capitals where
    there is another one that differs in case alone. What is too long for a file name ends in a digest.
    """
    given = list(dict.fromkeys(identifiers))
    plain = {name: _slug(name) for name in given}
    folded: dict[str, int] = {}
    for slug in plain.values():
        folded[slug.casefold()] = folded.get(slug.casefold(), 0) + 1
    found = {}
    for name, slug in plain.items():
        unique = _encoded(slug, re.compile("[A-Z]")) if folded[slug.casefold()] > 1 else slug
        if len(unique) > _LONGEST:
            unique = (
                f"{unique[: _LONGEST - 20]}~{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
            )
        found[name] = unique
    return found


def _slug(identifier: str) -> str:
    slug = _encoded(identifier, _OTHERS)
    return f"~2E{slug[1:]}" if slug.startswith(".") else slug


def _encoded(name: str, which: re.Pattern[str]) -> str:
    def bytes_of(found: re.Match[str]) -> str:
        return "".join(f"~{byte:02X}" for byte in found.group().encode("utf-8", "surrogatepass"))

    return which.sub(bytes_of, name)
