"""Check that importing a plugin only defines and registers things."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from brainscore_ci.checks.registrations import declares_files
from brainscore_ci.planning.areas import is_test_file
from brainscore_core.plugin_management.registrations import dotted, run_at_import
from brainscore_core.plugin_management.registry import FOLDERS

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

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
                fix = "remove it: without certificates anybody in between can replace the weights"
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
                message = f"imports {'everything' if is_star else 'something'} of the plugin {other}"
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
                message = f"{dotted(node.func, names)} runs whatever code the file holds"
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


RULES = (check_network, check_process, check_plugin_imports, check_pickles)
