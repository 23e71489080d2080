"""Draw the rooms of the four packages on layers, with arrows from each room to those that it imports."""

import ast
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "scripts": "brainscore_ci",
    "web": "brainscore_web",
    "vision": "brainscore_vision",
    "core": "brainscore_core",
}
COLOURS = {
    "scripts": "#d9822b",
    "web": "#8f5fd7",
    "vision": "#3b7dd8",
    "core": "#2e9e6b",
}
PLUGINS = ("data", "metrics", "benchmarks", "models")
NO_ROOMS = ("__init__", "__main__", "_version", "plugin_templates", "tests")


def room_of(file, folder):
    """Return the room, (folder of the package, name), that holds a file; None outside of rooms."""
    parts = file.relative_to(ROOT / folder / PACKAGES[folder]).with_suffix("").parts
    if folder == "vision" and parts[0] in PLUGINS and len(parts) > 1:
        return folder, "plugins"
    known = parts[0] not in NO_ROOMS and not (
        folder == "vision" and parts[0] in PLUGINS
    )
    return (folder, parts[0]) if known else None


def imported(tree):
    """Return the dotted names that a module imports when it runs."""
    typed = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in typed:
            names |= {alias.name for alias in node.names}
        elif (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and id(node) not in typed
        ):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def measure():
    """Read which room imports which, {room: rooms it imports}, rooms as (folder, name)."""
    files = {}
    for folder, package in PACKAGES.items():
        for file in sorted((ROOT / folder / package).rglob("*.py")):
            room = room_of(file, folder)
            if room and not {"tests", "test.py"} & set(file.parts):
                files[file] = room
    modules = {}
    for file, room in files.items():
        dotted = file.relative_to(ROOT / room[0]).with_suffix("").parts
        modules[".".join(dotted).removesuffix(".__init__")] = room
    rooms = {room: set() for room in files.values()}
    for file, room in files.items():
        for name in imported(ast.parse(file.read_bytes())):
            target = modules.get(name) or modules.get(name.rpartition(".")[0])
            if target and target != room and "plugins" not in target:
                rooms[room].add(target)
    return rooms


def layers(rooms):
    """Return the layer of each room: one above the highest room of its package that it imports."""
    heights = {}

    def height(room, above=()):
        if room in above:
            raise ValueError(f"Rooms import each other: {[*above, room]}")
        if room not in heights:
            below = [target for target in rooms[room] if target[0] == room[0]]
            heights[room] = 1 + max(
                (height(target, (*above, room)) for target in below), default=-1
            )
        return heights[room]

    for room in rooms:
        height(room)
    return heights


def reduced(rooms):
    """Leave out imports that follow from others, and all but one between two packages."""
    reach = {}

    def reached(room):
        if room not in reach:
            reach[room] = set().union(
                *({target} | reached(target) for target in rooms[room])
            )
        return reach[room]

    return {
        room: {
            target
            for target in targets
            if target[0] == room[0]
            and not any(target in reached(other) for other in targets - {target})
        }
        for room, targets in rooms.items()
    }


def draw(rooms):
    """Draw a column for each package, the layers of its rooms from bottom to top."""
    figure, axes = plt.subplots(figsize=(9, 8))
    axes.set_axis_off()
    heights, places, centres = layers(rooms), {}, {}
    left = 0.0
    for folder in PACKAGES:
        rows = {}
        for room in sorted(room for room in rooms if room[0] == folder):
            rows.setdefault(heights[room], []).append(room)
        width = max(map(len, rows.values()))
        for layer, row in rows.items():
            for number, room in enumerate(row):
                # Long rows are staggered, so that their labels have room.
                lift = 0.34 * (number % 2) if len(row) > 3 else 0.17
                x = left + (number + 0.5) * width / len(row)
                places[room] = (x, layer + lift)
        centres[folder] = left + width / 2
        axes.text(
            centres[folder], -0.75, folder, ha="center", weight="bold", fontsize=12
        )
        left += width + 0.2
    axes.set_xlim(0, left - 0.2)
    axes.set_ylim(-1.75, max(heights.values()) + 0.6)
    for room, targets in reduced(rooms).items():
        for target in targets:
            _arrow(axes, places[room], places[target], COLOURS[room[0]])
    packages = {(room[0], target[0]) for room in rooms for target in rooms[room]}
    for folder, other in sorted(packages):
        if folder != other:
            bend = {"connectionstyle": "arc3,rad=0.12"}
            start, end = (centres[folder], -0.75), (centres[other], -0.75)
            _arrow(axes, start, end, COLOURS[folder], **bend)
    for (folder, name), place in places.items():
        style = {
            "boxstyle": "round,pad=0.3",
            "facecolor": plt.rcParams["axes.facecolor"],
            "edgecolor": COLOURS[folder],
        }
        label = name.replace("_", "_\n", 1) if len(name) > 9 else name
        axes.text(*place, label, ha="center", va="center", fontsize=7.5, bbox=style)
    return figure


def _arrow(axes, start, end, colour, **style):
    arrow = {"arrowstyle": "->", "color": colour, "alpha": 0.55}
    axes.annotate(
        "", end, start, arrowprops=arrow | {"shrinkA": 9, "shrinkB": 11} | style
    )
