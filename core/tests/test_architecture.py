"""Check the source: no room imports private parts of another, core names no domain, and imports form no circles.

Each rule is also tested on a small tree that breaks it.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOMAIN = "brainscore_vision"
PACKAGES = {"brainscore_core": "core", "brainscore_ci": "scripts", "brainscore_web": "web", DOMAIN: "vision"}
PLUGIN_FOLDERS = ("data", "metrics", "benchmarks", "models")

OURS = ("SimulatedCortex2026", "simulatedcortex2026", "efficientnet_lite0", "gabor_bank", "hmax_discs")
"""Names of the domain that the published system does not have."""

ORDINARY_WORDS = frozenset({"accuracy"})
"""Words that core uses in their ordinary sense, although some plugin has that name."""

LIKELY_NAMES = frozenset(
    {
        *("array", "average", "baseline", "behavior", "bootstrap", "brain", "categories", "choices", "core"),
        *("correlation", "cosine", "data", "distance", "euclidean", "experiment", "features", "human", "images"),
        *("linear", "mean", "median", "metric", "model", "mymetric", "mymodel", "net", "network", "neurons", "noise"),
        *("pearson", "random", "recordings", "reliability", "resnet", "ridge2030", "score", "similarity", "simple"),
        *("spearman", "split", "test_model", "variance", "video"),
    }
)
"""Names that people are likely to give their first plugin."""

LOADER = re.compile(r"load_\w+|import_plugin")
KIND = re.compile(r"(?:^|_)(?:model|metric|benchmark|ceiling|dataset|stimulus_set)$")


@dataclass(frozen=True)
class Module:
    """One file of Python: its dotted name, whether it is a package, and its tree."""

    name: str
    is_package: bool
    tree: ast.Module

    @property
    def room(self) -> str:
        """The package that contains the module; a package is itself a room."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


def modules_of(folders: Mapping[str, Path]) -> dict[str, Module]:
    """Read all modules of packages (package -> folder that holds it)."""
    found = {}
    for package, folder in folders.items():
        for file in sorted((folder / package).rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            found[name] = Module(name, is_package, ast.parse(file.read_bytes()))
    return found


@pytest.fixture(scope="module")
def with_plugins():
    return modules_of({package: ROOT / folder for package, folder in PACKAGES.items()})


@pytest.fixture(scope="module")
def tree(with_plugins):
    """Return the modules outside the folders of plugins."""
    folders = tuple(f"{DOMAIN}.{folder}." for folder in PLUGIN_FOLDERS)
    return {name: module for name, module in with_plugins.items() if not name.startswith(folders)}


@pytest.fixture
def make_house(tmp_path):
    """Return a function that writes a package `house` from {path: code} and reads its modules."""

    def make(files):
        for path, code in files.items():
            file = tmp_path / "house" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(code)
        return modules_of({"house": tmp_path})

    return make


# -- imports -----------------------------------------------------------------------------------------------------------


def imports_of(module: Module, tree: Mapping[str, Module]) -> Iterator[tuple[str, str]]:
    """Yield (module, name imported from it or '') for every import, including local ones and those by string.

    A string counts if it is exactly the dotted name of a module of the tree, as an argument of `import_module` or in a
    table of late look-ups. The name of a whole library is data, since it only states where plugins are.
    """
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.room.split(".")
            base = ".".join([*above[: len(above) + 1 - node.level], node.module or ""]).strip(".")
            source = base if node.level else (node.module or "")
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield (inner, "") if inner in tree else (source, alias.name)
        elif isinstance(node, ast.Constant) and node.value in tree and "." in node.value:
            yield node.value, ""


def type_only(module: Module) -> set[str]:
    """Return the imports that only type checkers need, which make no circle when a program runs."""
    blocks = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).removeprefix("typing.") == "TYPE_CHECKING"
    ]
    inside = Module(module.name, module.is_package, ast.Module([line for node in blocks for line in node.body], []))
    return {source for source, _ in imports_of(inside, {})} | {
        f"{source}.{name}" for source, name in imports_of(inside, {})
    }


def is_hidden(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_imports(tree: Mapping[str, Module]) -> list[str]:
    """Return the imports of hidden names, and of hidden modules from outside the package that contains them."""
    found = []
    packages = {each.partition(".")[0] for each in tree}
    for module in tree.values():
        for source, name in imports_of(module, tree):
            if source.partition(".")[0] not in packages:
                continue
            parts = source.split(".")
            holders = [".".join(parts[:depth]) for depth, part in enumerate(parts) if is_hidden(part)]
            outside = [holder for holder in holders if not f"{module.name}.".startswith(f"{holder}.")]
            if outside or is_hidden(name):
                found.append(f"{module.name} -> {source}{f' {name}' if name else ''}")
    return sorted(set(found))


def test_no_room_imports_private_parts_of_another(tree, with_plugins):
    assert len(with_plugins) > len(tree) > 200
    assert private_imports(with_plugins) == []


@pytest.mark.parametrize(
    "code",
    [
        "from house.kitchen import _stove\n",
        "import house.kitchen._stove\n",
        "def cook():\n    from house.kitchen._stove import heat\n",
        "import importlib\nimportlib.import_module('house.kitchen._stove')\n",
        "from house.kitchen.table import _leg\n",
        "from .kitchen import _stove\n",
    ],
)
def test_private_import_is_detected(make_house, code):
    files = {"kitchen/__init__.py": "from . import _stove\n", "kitchen/_stove.py": "", "kitchen/table.py": "_leg = 1\n"}
    assert private_imports(make_house(files)) == []
    assert len(private_imports(make_house({**files, "hall.py": code}))) == 1


# -- names -------------------------------------------------------------------------------------------------------------


def domain_names() -> frozenset[str]:
    """Return words that always refer to the domain: its package, and the names in a list that never grows.

    Names that current plugins register are left out on purpose: core uses words such as `median` and `network`, and a
    plugin may have such a name. `plugins_named_in` finds those.
    """
    identifiers, models = (
        (ROOT / f"vision/tests/published_{kind}.txt").read_text().splitlines() for kind in ("identifiers", "models")
    )
    published = {word for line in identifiers for word in line.split(" ")[1:3]}  # folder and identifier
    return frozenset({DOMAIN, *OURS, *models, *published}) - ORDINARY_WORDS


def words_of(module: Module) -> set[str]:
    """Return the words in the strings and imports of a module; for dotted words, also every leading part."""
    texts = [node.value for node in ast.walk(module.tree) if isinstance(node, ast.Constant)]
    texts += [part for node in ast.walk(module.tree) if isinstance(node, ast.Import) for part in _parts(node)]
    texts += [node.module for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom) and node.module]
    words = {word for text in texts if isinstance(text, str) for word in re.findall(r"[\w-]+(?:\.[\w-]+)*", text)}
    return {_first_names(word, depth) for word in words for depth in range(1, word.count(".") + 2)}


def _parts(node: ast.Import) -> list[str]:
    return [alias.name for alias in node.names]


def plugins_named_in(module: Module) -> set[str]:
    """Return the literals that code uses as the identifier of a plugin, whether or not that plugin exists.

    They are arguments of a loader, keys of a registry, and values of parameters or constants named like a kind of
    plugin.
    """
    found: list[ast.expr | None] = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            found += arguments if LOADER.fullmatch(ast.unparse(node.func).rpartition(".")[2]) else []
            found += [keyword.value for keyword in node.keywords if keyword.arg and KIND.search(keyword.arg)]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("_registry"):
            found.append(node.slice)
        elif isinstance(node, ast.arguments):
            positional = [*node.posonlyargs, *node.args]
            defaults = [*zip(reversed(positional), reversed(node.defaults), strict=False)]
            defaults += [*zip(node.kwonlyargs, node.kw_defaults, strict=True)]
            found += [default for argument, default in defaults if KIND.search(argument.arg)]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [node.value for target in targets if KIND.search(ast.unparse(target).lower())]
    literals = {each.value for each in found if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return {text for text in literals if text and " " not in text}


def named_by(tree: Mapping[str, Module], names: frozenset[str]) -> dict[str, set[str]]:
    """Return module -> names of the domain and identifiers of plugins in it."""
    found = {name: names & words_of(module) | plugins_named_in(module) for name, module in tree.items()}
    return {name: named for name, named in found.items() if named}


@pytest.fixture(scope="module")
def core(tree):
    return {name: module for name, module in tree.items() if name.partition(".")[0] == "brainscore_core"}


def test_core_names_no_domain_and_no_plugin(core):
    names = domain_names()
    assert {"SimulatedCortex2026", "MajajHong2015.IT-pls", "majajhong2015", "neuron_to_neuron", "vgg_16"} <= names
    assert len(names) > 1000
    assert named_by(core, names) == {}


def test_likely_plugin_names_are_not_domain_names(core):
    """Core uses many of them in their ordinary sense, so a plugin with such a name must not make this check fail."""
    spoken = set().union(*map(words_of, core.values()))
    assert len(LIKELY_NAMES & spoken) > 20
    assert LIKELY_NAMES & domain_names() == set()


@pytest.mark.parametrize(
    "code",
    [
        "x = 'see network2024'\n",
        '"""Load it: ``load(\'network2024\')``."""\n',
        "import brainscore_vision.utils\n",
        "def f():\n    from brainscore_vision import load_model\n",
        "x = f'see network2024.IT-pls in {place}'\n",
        "x = load_metric('median')\n",
        "x = loading.load_dataset(identifier='median')\n",
        "x = metric_registry['median']\n",
        "def f(place, model='median'): ...\n",
        "def f(*, benchmark='median'): ...\n",
        "f(metric='median')\n",
        "DEFAULT_MODEL = 'median'\n",
        "class A:\n    metric: str = 'median'\n",
    ],
)
def test_domain_name_in_core_is_detected(make_house, code):
    names = frozenset({"network2024", "brainscore_vision"})
    assert named_by(make_house({"a.py": code}), names)


@pytest.mark.parametrize(
    "code",
    [
        "x = 'network2024b, my-network2024, a brainscore_visionary'\n",
        '"""The median of a network."""\nDEFAULT = "median"\n',
        "def f(statistic='median'):\n    return load(model='', benchmark='no such benchmark', statistic='median')\n",
        "x = load_model(name)\ny = columns['median']\n",
    ],
)
def test_ordinary_words_in_core_are_allowed(make_house, code):
    assert named_by(make_house({"a.py": code}), frozenset({"network2024", "brainscore_vision"})) == {}


# -- circles -----------------------------------------------------------------------------------------------------------


def graph_of(tree: Mapping[str, Module]) -> dict[str, set[str]]:
    """Return module -> the modules that it imports when a program runs, at once or later."""
    graph: dict[str, set[str]] = {}
    for module in tree.values():
        for_types = type_only(module)
        graph[module.name] = {
            source
            for source, name in imports_of(module, tree)
            if source in tree and source != module.name and not {source, f"{source}.{name}"} & for_types
        }
    return graph


def circles_in(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of nodes that can all be reached from each other (Tarjan's algorithm, without recursion)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    circles = []
    for start in graph:
        walk = [(start, iter(sorted(graph[start])))] if start not in order else []
        while walk:
            node, others = walk[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                stack.append(node)
            for other in others:
                if other not in order:
                    walk.append((other, iter(sorted(graph[other]))))
                    break
                if other in stack:
                    lowest[node] = min(lowest[node], order[other])
            else:
                walk.pop()
                if walk:
                    lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    group = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    if len(group) > 1:
                        circles.append(sorted(group))
    return circles


def test_modules_have_no_import_circles(tree):
    assert circles_in(graph_of(tree)) == []


@pytest.mark.parametrize(
    "code",
    [
        "import house.hall\n",
        "def late():\n    from house import hall\n",
        "from .. import hall\n",
        "import importlib\ndef __getattr__(name):\n    return getattr(importlib.import_module('house.hall'), name)\n",
        "HOMES = {'door': 'house.hall'}\n",
    ],
)
def test_circle_of_modules_is_detected(make_house, code):
    hall = {"__init__.py": "", "hall.py": "from house.kitchen import stove\n", "kitchen/__init__.py": ""}
    for_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house import hall\n"
    assert circles_in(graph_of(make_house({**hall, "kitchen/stove.py": for_types}))) == []
    assert circles_in(graph_of(make_house({**hall, "kitchen/stove.py": code}))) == [
        ["house.hall", "house.kitchen.stove"]
    ]


def rooms_of(graph: Mapping[str, set[str]], depth: int) -> dict[str, set[str]]:
    """Return room -> the rooms that it imports; a room is a package `depth` names deep, or a module above that."""
    rooms: dict[str, set[str]] = {}
    for name, sources in graph.items():
        room = _first_names(name, depth)
        others = {_first_names(source, depth) for source in sources}
        inside = {other for other in others if f"{other}.".startswith(f"{room}.") or f"{room}.".startswith(f"{other}.")}
        rooms.setdefault(room, set()).update(others - inside)
        for other in others:
            rooms.setdefault(other, set())
    return rooms


def _first_names(name: str, count: int) -> str:
    return ".".join(name.split(".")[:count])


@pytest.mark.parametrize("depth", [2, 3])
def test_rooms_have_no_import_circles(tree, depth):
    assert circles_in(rooms_of(graph_of(tree), depth)) == []


@pytest.mark.parametrize("code", ["import house.hall.door\n", "def late():\n    from house.hall import door\n"])
def test_circle_of_rooms_is_detected(make_house, code):
    empty = ("__init__.py", "hall/__init__.py", "hall/door.py", "kitchen/__init__.py", "kitchen/stove.py")
    files = {**dict.fromkeys(empty, ""), "hall/stairs.py": "from house.kitchen import stove\n"}
    assert circles_in(rooms_of(graph_of(make_house(files)), 2)) == []
    graph = graph_of(make_house({**files, "kitchen/table.py": code}))
    assert circles_in(graph) == []
    assert circles_in(rooms_of(graph, 2)) == [["house.hall", "house.kitchen"]]


# -- one idea, one place ----------------------------------------------------------------------------------------------


def shared_names(tree: Mapping[str, Module]) -> set[str]:
    """Return the names of public classes that several modules define."""
    names = Counter(
        node.name
        for module in tree.values()
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {name for name, count in names.items() if count > 1}


def test_no_two_public_classes_share_a_name(tree):
    assert shared_names(tree) == set()


def test_classes_that_share_a_name_are_detected(make_house):
    files = {"hall.py": "class Door: ...\nclass _Key: ...\n", "kitchen.py": "class Stove: ...\nclass _Key: ...\n"}
    assert shared_names(make_house(files)) == set()
    assert shared_names(make_house({**files, "cellar.py": "class Door: ...\n"})) == {"Door"}


def modules_with_stamps(tree: Mapping[str, Module]) -> list[str]:
    """Return the modules that read a file's time of last change in nanoseconds, as a stamp does."""
    attributes = ("st_mtime_ns", "st_ctime_ns")
    return [
        name
        for name, module in tree.items()
        if any(isinstance(node, ast.Attribute) and node.attr in attributes for node in ast.walk(module.tree))
    ]


def test_stamps_are_made_in_one_place(tree):
    assert modules_with_stamps(tree) == ["brainscore_core.identity.digest"]


def test_stamp_in_another_place_is_detected(make_house):
    assert modules_with_stamps(make_house({"a.py": "import os\nx = os.stat('a').st_mtime\n"})) == []
    assert modules_with_stamps(make_house({"a.py": "import os\nx = os.stat('a').st_mtime_ns\n"})) == ["house.a"]


# -- weight ------------------------------------------------------------------------------------------------------------

LIGHT = (
    *("errors", "config", "files", "command_line", "processes", "git", "plugin_management.index"),
    *("records.record", "records.store", "scoring.pairs", "scoring.batches"),
    *("scoring.judging", "scoring.campaign"),
    *("identity.digest", "identity.software", "identity.store", "testing.outcomes"),
)
"""Modules that planning, checking, gate, reporting and reconciling import from core."""


def unsafe_output(modules):
    """Yield each print, and each write to a standard stream, of text that has not passed through `harmless`."""
    for name, module in modules.items():
        for node in ast.walk(module.tree):
            if name == "brainscore_core.command_line" or not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            is_output = called == "print" or re.fullmatch(r"sys\.(__)?std(out|err)(__)?\.write", called)
            if is_output and not ast.unparse(node).startswith(f"{called}(harmless("):
                yield f"{name}:{node.lineno}"


def test_all_output_is_made_harmless_for_a_terminal(tree):
    assert list(unsafe_output(tree)) == []


@pytest.mark.parametrize("code", ["print(name)", "sys.stderr.write(name)", "print(name, harmless(name))"])
def test_unsafe_output_is_detected(make_house, code):
    assert list(unsafe_output(make_house({"a.py": code, "b.py": "print(harmless(name))"}))) == ["house.a:1"]


def test_planning_checking_and_reporting_need_no_numpy(tree):
    rooms = ("planning", "checks", "reporting", "github", "jobs", "submission")
    ci = [name for name in tree if name.startswith(tuple(f"brainscore_ci.{room}" for room in rooms))]
    assert len(ci) > 30
    names = [*ci, *(f"brainscore_core.{name}" for name in LIGHT)]
    code = f"import sys, importlib; sys.modules['numpy'] = None; [importlib.import_module(each) for each in {names!r}]"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
