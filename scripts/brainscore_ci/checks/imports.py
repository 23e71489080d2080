"""Check a plugin's imports: importing it only defines and registers things; names are current and provided."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from brainscore_ci.checks.registrations import declares_files
from brainscore_ci.planning.areas import is_test_file
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.registrations import dotted, parse, run_at_import
from brainscore_core.plugin_management.registry import FOLDERS
from brainscore_core.plugin_management.requirements import (
    expanded_requirements,
    is_module_of_python,
    is_own_distribution,
)

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import CheckedPlugin, Finding, Surroundings

# -- Effects of an import: it only defines and registers things --------------------------------------------------------

# Last names of calls that fetch something, from any module.
_FETCHING = frozenset(
    {
        "download_file_if_not_exists", "download_folder", "download_url_to_file", "download_weights", "from_pretrained",
        "hf_hub_download", "load_assembly_from_s3", "load_dataset", "load_file_from_s3", "load_folder_from_s3",
        "load_state_dict_from_url", "load_stimulus_set", "load_stimulus_set_from_s3", "load_weight_file",
        "snapshot_download", "urlopen", "urlretrieve",
    }
)  # fmt: skip
# Full names; a trailing dot means every name that starts with it.
_FETCHING_FROM = (
    "torch.load", "torch.hub.", "torch.jit.load", "requests.get", "requests.post", "requests.request", "httpx.get",
    "httpx.post", "gdown.", "wget.", "numpy.load", "pickle.load", "joblib.load", "pandas.read_pickle", "h5py.File",
    "brainscore_core.supported_data_standards.brainio.s3.load_file", "tensorflow.keras.models.load_model",
)  # fmt: skip
_STARTING = ("os.system", "os.popen", "os.exec", "subprocess.", "pip.main", "pip._internal.")
_NOT_FETCHING = frozenset({"torch.hub.set_dir", "torch.hub.get_dir", "subprocess.PIPE"})
_WEIGHTS = frozenset({"pretrained", "weights"})  # keywords of functions that load weights

_CHANGING = (
    "sys.path.append", "sys.path.insert", "sys.path.extend", "sys.path.remove", "sys.path.pop", "sys.setrecursionlimit",
    "site.addsitedir", "os.environ.update", "os.environ.setdefault", "os.environ.pop", "os.environ.clear", "os.putenv",
    "os.unsetenv", "os.chdir", "os.umask", "logging.basicConfig", "logging.disable", "logging.captureWarnings",
    "warnings.simplefilter", "warnings.filterwarnings", "warnings.resetwarnings", "random.seed", "numpy.random.seed",
    "torch.manual_seed", "torch.set_default_dtype", "torch.set_default_device", "torch.set_num_threads",
    "torch.use_deterministic_algorithms", "torch.hub.set_dir", "matplotlib.use", "locale.setlocale", "signal.signal",
)  # fmt: skip
_STATES = ("sys.path", "sys.modules", "sys.stdout", "sys.stderr", "os.environ", "ssl._create_default_https_context",
           "torch.backends.", "socket.")  # fmt: skip

_UNPICKLING = ("pickle.load", "pickle.loads", "dill.load", "dill.loads", "cloudpickle.load", "joblib.load",
               "pandas.read_pickle")  # fmt: skip


def _is_one_of(name: str, names: tuple[str, ...]) -> bool:
    return any(name.startswith(one) if one.endswith(".") else name == one for one in names)


def check_network(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require that importing a plugin neither downloads, loads weights or data, nor starts programs."""
    for path, file in source.imported.items():
        names = source.names_in(path)
        for node in run_at_import(file.tree.body if file.tree else ()):
            if not isinstance(node, ast.Call):
                continue
            what = _fetches(node, names)
            if what is None:
                what = _fetches_within(source, path, node)
            if what is not None:
                message = f"importing the plugin calls {what}, which downloads, loads or starts something"
                fix = "move it into the function that makes the model, metric or benchmark"
                yield source.finding("no-network-at-import", message, fix, path, node.lineno)


def _fetches(call: ast.Call, names: Mapping[str, str]) -> str | None:
    """Return the name of a call that fetches or starts something."""
    name = dotted(call.func, names)
    name = name.replace("np.", "numpy.", 1) if name.startswith("np.") else name
    last = name.rpartition(".")[2]
    if name in _NOT_FETCHING or "._" in name:  # the packages' own helpers load nothing
        return None
    if isinstance(call.func, ast.Call) and declares_files(call.func):  # a bucket's result is called at once
        return f"{dotted(call.func.func, names)}(...)()"
    if last in _FETCHING or _is_one_of(name, _FETCHING_FROM) or _is_one_of(name, _STARTING):
        return name
    for keyword in call.keywords:
        is_nothing = isinstance(keyword.value, ast.Constant) and keyword.value.value in (None, False)
        if keyword.arg in _WEIGHTS and not is_nothing and name.split(".")[0] in _MODEL_SOURCES:
            return f"{name}({keyword.arg}=...)"
    return None


_MODEL_SOURCES = frozenset({"timm", "torchvision", "create_model", "cornet", "vonenet", "transformers", "open_clip"})


def _fetches_within(source: CheckedPlugin, path: str, call: ast.Call) -> str | None:
    """Return the fetches of a called function of the plugin, one level deep."""
    if not isinstance(call.func, ast.Name):
        return None
    definition = source.definition(path, call.func.id)
    if definition is None:
        return None
    file, statement = definition
    body: list[ast.stmt] = []
    if isinstance(statement, ast.FunctionDef):
        body = statement.body
    elif isinstance(statement, ast.ClassDef):
        makers = [one for one in statement.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        body = makers[0].body if makers else []
    names = source.names_in(file)
    for node in run_at_import(body):
        if isinstance(node, ast.Import):
            names = {**names, **{alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}}
        elif isinstance(node, ast.Call):
            what = _fetches(node, names)
            if what is not None:
                return f"{call.func.id}(), which calls {what} in {file}:{node.lineno}"
    return None


def check_process(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require that importing a plugin changes nothing shared by the process."""
    for path, file in source.imported.items():
        names = source.names_in(path)
        guarded = _within_catch_warnings(file.tree, names)
        for node in run_at_import(file.tree.body if file.tree else ()):
            what = _changes(node, names)
            if what is None or (what.startswith("warnings.") and id(node) in guarded):
                continue
            message = f"importing the plugin changes {what} for everything else in the process"
            fix = "remove it, or do it in the function that needs it, and undo it there"
            of_tutorial = what.startswith("ssl.")  # the tutorial on models recommends it
            if of_tutorial:
                fix = "remove it: without certificate checks, anyone on the network path can replace the weights"
            line = getattr(node, "lineno", 1)
            yield source.finding("no-side-effects-at-import", message, fix, path, line, hint=of_tutorial)


def _changes(node: ast.AST, names: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Call):
        name = dotted(node.func, names)
        name = name.replace("np.", "numpy.", 1) if name.startswith("np.") else name
        return name if _is_one_of(name, _CHANGING) else None
    targets: list[ast.expr] = []
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    for target in targets:
        changed = target.value if isinstance(target, ast.Subscript) else target
        if isinstance(changed, ast.Name) and changed is target:
            continue  # a variable of the plugin
        name = dotted(changed, names)
        if _is_one_of(name, _STATES):
            return name
    return None


def _within_catch_warnings(tree: ast.Module | None, names: Mapping[str, str]) -> set[int]:
    return {
        id(inner)
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.With)
        and any(
            isinstance(item.context_expr, ast.Call)
            and dotted(item.context_expr.func, names) == "warnings.catch_warnings"
            for item in node.items
        )
        for inner in ast.walk(node)
    }


def check_plugin_imports(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require that plugins name each other as texts; metric plugins may export a few names."""
    library = source.plugin.root.package.rpartition(".")[0]
    roots = tuple(f"{library}.{folder}." for folder in FOLDERS)
    own = f"{source.folder}/{source.plugin.name}"
    for path, file in source.files.items():
        if file.tree is None or "data_packaging" in path.split("/")[:-1]:
            continue
        for node in ast.walk(file.tree):
            for module, is_star in _imported(source, path, node):
                if not module.startswith(roots):
                    continue
                other = "/".join(module.removeprefix(f"{library}.").split(".")[:2])
                if other == own or f"{module}.".startswith(f"{source.plugin.module}."):
                    continue
                if other not in surroundings.plugins:  # from mylibrary.metrics import Score
                    continue
                may_be = other.startswith("metrics/") or is_test_file(path)
                message = f"imports {'everything' if is_star else 'something'} from the plugin {other}"
                fix = f"use {_LOADER[other.split('/')[0]]}, or move what both need to the helpers"
                yield source.finding(
                    "no-plugin-imports", message, fix, path, getattr(node, "lineno", 1), hint=may_be and not is_star
                )


_LOADER = {
    "data": "load_dataset or load_stimulus_set",
    "metrics": "load_metric",
    "benchmarks": "load_benchmark",
    "models": "load_model",
}


def _imported(source: CheckedPlugin, path: str, node: ast.AST) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, False
    elif isinstance(node, ast.ImportFrom):
        module = source.absolute(path, node)
        if any(alias.name == "*" for alias in node.names):
            yield module, True
        elif module.count(".") == 1:  # from package.metrics import rdm
            yield from ((f"{module}.{alias.name}", False) for alias in node.names)
        else:
            yield module, False


def check_pickles(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Advise against unpickling files, since a pickle runs code."""
    for path, file in source.python.items():
        if b"load" not in (file.content or b"") and b"pickle" not in (file.content or b""):
            continue
        names = source.names_in(path)
        for node in ast.walk(file.tree) if file.tree else ():
            if isinstance(node, ast.Call) and _unpickles(node, names):
                message = f"{dotted(node.func, names)} runs any code that the file contains"
                fix = "use torch.load(..., weights_only=True), safetensors, netCDF, NPZ or JSON"
                yield source.finding("pickle", message, fix, path, node.lineno, hint=True)


def _unpickles(call: ast.Call, names: Mapping[str, str]) -> bool:
    name = dotted(call.func, names)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}

    def is_given(keyword: str, value: object) -> bool:
        node = keywords.get(keyword)
        return isinstance(node, ast.Constant) and node.value is value

    if name == "torch.load":
        return is_given("weights_only", False)
    if name in {"numpy.load", "np.load"}:
        return is_given("allow_pickle", True)
    return _is_one_of(name, _UNPICKLING)


# -- Modules and names are current, not those of predecessors ----------------------------------------------------------

# Longest first. {library} is the plugin's library.
_MODULES = {
    "brainscore.metrics.image_level_behavior": "{library}.metrics.i1i2",
    "brainscore.benchmarks.screen": "{library}.benchmark_helpers.screen",
    "brainscore.get_stimulus_set": "{library}.load_stimulus_set",
    "brainscore.get_assembly": "{library}.load_dataset",
    "brainscore": "{library}",
    "model_helpers": "{library}.model_helpers",
    "model_tools": "{library}.model_helpers",
    "brainio": "brainscore_core.supported_data_standards.brainio",
}
NAMES: Mapping[str, str] = {"PropertiesAssembly": "PropertyAssembly"}
"""Class name in older tutorials -> current name."""
_STILL_THERE = ("brainio", "brainscore")  # like `NAMES`


def current_name(name: str, library: str) -> str | None:
    """Return the current name for a predecessor's dotted name; None for any other.

    Examples
    --------
    >>> current_name('brainscore.benchmarks.BenchmarkBase', 'mylibrary')
    'mylibrary.benchmarks.BenchmarkBase'
    """
    for old, new in _MODULES.items():
        if name == old or name.startswith(f"{old}."):
            return _renamed(new.format(library=library) + name.removeprefix(old))
    renamed = _renamed(name)
    return renamed if renamed != name else None


def _renamed(name: str) -> str:
    prefix, dot, last = name.rpartition(".")
    return f"{prefix}{dot}{NAMES.get(last, last)}"


def check_outdated(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require current names of modules and classes."""
    library = source.plugin.root.package.partition(".")[0]
    for path, file in source.files.items():
        for node in ast.walk(file.tree) if file.tree else ():
            for old in _imported_names(node):
                new = current_name(old, library)
                if new is not None:
                    is_there = old.partition(".")[0] in _STILL_THERE or old.rpartition(".")[2] in NAMES
                    message = f"{old} is now called {new}"
                    fix = "import it under that name; brainscore check --fix does"
                    line = getattr(node, "lineno", 1)
                    yield source.finding("old-import", message, fix, path, line, hint=is_there)


def _imported_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


# -- Outdated names, renamed by `fix` where that is safe ---------------------------------------------------------------

_Edit = tuple[int, int, int, str]  # line from 0, first byte, end byte, new text


def fixed_source(content: bytes, library: str) -> bytes:
    """Return Python code with current names, see `current_name`, where renaming is safe."""
    tree = parse(content)
    lines = content.splitlines(keepends=True)
    for line, start, end, text in sorted(set(_edits(tree, lines, library)), reverse=True):
        lines[line] = lines[line][:start] + text.encode() + lines[line][end:]
    mended = b"".join(lines)
    try:
        parse(mended)
    except SyntaxError:
        return content
    return mended


def _edits(tree: ast.Module, lines: list[bytes], library: str) -> Iterator[_Edit]:
    plain = {alias.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import)
             for alias in node.names if alias.asname is None}  # fmt: skip
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    renamed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in NAMES and alias.asname is None
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from _edits_of_import(node, lines, library)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                new = current_name(alias.name, library)
                if new is not None:
                    at = alias.col_offset
                    yield alias.lineno - 1, at, at + len(alias.name), new
        elif isinstance(node, ast.Attribute) and id(node) not in inner and node.lineno == node.end_lineno:
            name = dotted(node, {})
            new = current_name(name, library) if name.partition(".")[0] in plain else None
            if new is not None:
                yield node.lineno - 1, node.col_offset, node.end_col_offset or 0, new
        elif isinstance(node, ast.Name) and node.id in renamed:
            yield node.lineno - 1, node.col_offset, node.end_col_offset or 0, NAMES[node.id]


def _edits_of_import(node: ast.ImportFrom, lines: list[bytes], library: str) -> Iterator[_Edit]:
    module = str(node.module)
    new = current_name(module, library)
    match = re.compile(rb"from\s+" + re.escape(module.encode())).match(lines[node.lineno - 1], node.col_offset)
    if new is not None and match is not None:
        yield node.lineno - 1, match.end() - len(module.encode()), match.end(), new
    for alias in node.names:
        whole = current_name(f"{module}.{alias.name}", library) or ""
        last = whole.rpartition(".")[2]
        if whole and last != alias.name:
            keeps = alias.asname is not None or alias.name in NAMES
            text = last if keeps else f"{last} as {alias.name}"
            yield alias.lineno - 1, alias.col_offset, alias.col_offset + len(alias.name.encode()), text


# -- Python, the library or a requirement provides every import --------------------------------------------------------

# Module -> distributions that provide it. Others are not recommended: anybody may register a module's name on PyPI.
_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "PIL": ("pillow",),
    "bs4": ("beautifulsoup4",),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "dateutil": ("python-dateutil",),
    "mpl_toolkits": ("matplotlib",),
    "open_clip": ("open-clip-torch",),
    "pkg_resources": ("setuptools",),
    "skimage": ("scikit-image",),
    "sklearn": ("scikit-learn",),
    "yaml": ("pyyaml",),
}
_OF_THEIR_OWN_NAME = frozenset(
    {
        "einops", "ftfy", "gdown", "jax", "joblib", "matplotlib", "networkx", "numba", "peft", "requests", "seaborn",
        "tensorflow", "thingsvision", "timm", "torch", "torchaudio", "torchvision", "transformers",
    }
)  # fmt: skip
_WITH_TESTS = frozenset({"pytest"})
_WITH_THE_LIBRARY = frozenset({"brainio", "brainscore", "result_caching"})  # modules outside the packages


def check_undeclared(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require named distributions; relying on another requirement's own is a hint."""
    if not surroundings.dependencies:
        return  # the library's requirements are unknown
    try:
        lines = expanded_requirements(source.plugin.directory, within=True)
    except (RequirementsError, RecursionError):
        return  # the requirements rule reports it
    if any(line.requirement is None and not line.text.startswith("-") for line in lines):
        return  # an unnamed requirement may provide anything
    named = {canonicalize_name(line.requirement.name) for line in lines if line.requirement is not None}
    library = source.plugin.root.package.partition(".")[0]
    reported = set[str]()
    # Also of inner folders: some plugins put one on the import path.
    own = {part.removesuffix(".py") for path in source.files if path.endswith(".py") for part in path.split("/")}
    for path, file in source.python.items():
        for node in _required_imports(file.tree.body if file.tree else []):
            for module in _top_modules(node):
                providers = [canonicalize_name(name) for name in _PROVIDERS.get(module, (module,))]
                is_here = (
                    module in (library, *reported, *_WITH_TESTS, *_WITH_THE_LIBRARY, *own)
                    or module in sys.stdlib_module_names
                    or is_module_of_python(module)
                    or is_own_distribution(module)
                    or current_name(module, library) is not None
                )
                if is_here or any(name in named or name in surroundings.dependencies for name in providers):
                    continue
                reported.add(module)
                message = f"imports {module}, which neither the library nor requirements.txt provides"
                fix = f"add {providers[0]} to requirements.txt"
                if module not in _PROVIDERS and module not in _OF_THEIR_OWN_NAME:
                    fix = (
                        "add the distribution that provides it to requirements.txt; one of the same name may be "
                        "unrelated"
                    )
                yield source.finding("undeclared-import", message, fix, path, node.lineno, hint=bool(named))


def _required_imports(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield imports, except those that may fail and those for type checkers."""
    for statement in body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield statement
        elif isinstance(statement, ast.Try):
            caught = " ".join(
                ast.unparse(handler.type) if handler.type else "Exception" for handler in statement.handlers
            )
            if not any(name in caught for name in ("ImportError", "ModuleNotFoundError", "Exception")):
                yield from _required_imports(statement.body)
            for handler in statement.handlers:
                yield from _required_imports(handler.body)
            yield from _required_imports([*statement.orelse, *statement.finalbody])
        elif isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            yield from _required_imports(statement.orelse)
        else:
            for _, value in ast.iter_fields(statement):
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    yield from _required_imports(value)


def _top_modules(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif node.level == 0 and node.module:
        yield node.module.partition(".")[0]


RULES = (
    check_network,
    check_process,
    check_plugin_imports,
    check_pickles,
    check_outdated,
    check_undeclared,
)
