"""Measure how long planning takes in a tree of 1,300 plugins, from starting the command to its last line.

The tree holds the plugins of this repository and made ones of the number, size and kind of those of the community;
`--tree DIR` takes plugins from below DIR instead of the made ones, as far as there are. Each number is the median over
processes of their own, with nothing in the cache: a job of CI always starts cold.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import keep, medians, options_of, run, size

ROOT = Path(__file__).parents[1]
LIBRARY = "vision/brainscore_vision"
NUMBERS = {"data": size(100, 30), "metrics": 50, "benchmarks": 110}  # the other plugins are models
N_PLUGINS = size(1300, 260)
TARGET_S = 1.0

REGISTER = """from brainscore_vision import {kind}_registry

{kind}_registry['{identifier}'] = lambda: {value}
"""
LOAD = """from brainscore_vision import {function}


def test_it():
    {function}('{identifier}')
"""
MODEL = '''
class Block{index}(nn.Module):
    """One block of the network, as the paper describes it."""

    def __init__(self, features, expansion=4, name="block{index}"):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(features, features * expansion, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(features * expansion),
            nn.ReLU(inplace=True),
            nn.Conv2d(features * expansion, features, kernel_size=1),
        )
        self.scale = nn.Parameter(torch.ones(features) * 1e-6)
        self.names = {{"input": f"{{name}}.input", "output": "{{}}.output".format(name), "{index}": "layer.{index}"}}

    def forward(self, x):
        residual = self.layers(x) * self.scale[None, :, None, None]
        return x + residual if self.training else (x + residual).contiguous()

'''
BENCHMARK = '''
def _Benchmark{index}(region, access="public"):
    """Benchmark of region {index}."""
    assembly = load_dataset(f"Data{number}.{{access}}").sel(region=region)
    assembly = average_repetition(assembly.multi_groupby(["image_id", "repetition"]).mean("presentation"))
    metric = load_metric("metric{metric}", crossvalidation_kwargs=dict(splits=10, stratification_coord=None))
    ceiler = load_ceiling("metric{other}")
    identifier = f"Benchmark{number}.{{region}}-metric{metric}-{index}"
    return NeuralBenchmark(identifier=identifier, version=3, assembly=assembly, similarity_metric=metric,
                           visual_degrees=8, number_of_trials=50, ceiling_func=lambda: ceiler(assembly),
                           parent=region, bibtex="@article{{author{number}, year={{2020}}}}")

'''
TEST = """
    @pytest.mark.private_access
    def test_region{index}(self):
        benchmark = load_benchmark("Benchmark{number}.IT-{index}")
        assert benchmark.ceiling.sel(aggregation="center") == approx(0.{index}1, abs=0.005)
        assert set(benchmark._assembly["region"].values) == {{"IT"}}, "only one region is in the data"

"""


def files_of(kind: str, number: int) -> dict[str, str]:
    """Return the files of a made plugin: name -> text.

    Models have the usual size. A benchmark has several identifiers and uses one data plugin and two metrics.
    """
    name = {"data": f"Data{number}.public", "metrics": f"metric{number}"}.get(kind, f"made{number}")
    if kind == "benchmarks":
        registered = [f"benchmark_registry['Made{number}.{index}-m'] = _Benchmark{index}" for index in range(3)]
        numbers = {"number": number % 50, "metric": number % 25, "other": number % 25}
        parts = "".join(BENCHMARK.format(index=index, **numbers) for index in range(7))
        tests = "".join(TEST.format(index=index, number=number) for index in range(6))
        return {
            "__init__.py": "from .benchmark import *\n\n" + "\n".join(registered),
            "benchmark.py": "from brainscore_vision import load_ceiling, load_dataset\n" + parts,
            "test.py": f"from brainscore_vision import load_benchmark\n\nclass TestIt:\n{tests}",
        }
    load = {"data": "load_dataset", "metrics": "load_metric", "models": "load_model"}[kind]
    test = {"test.py": LOAD.format(function=load, identifier=name)}
    value = f"get_model('{name}')" if kind == "models" else "None"
    register = REGISTER.format(kind=kind.removesuffix("s"), identifier=name, value=value)
    if kind == "models":
        head = "import torch\nfrom torch import nn\nfrom brainscore_vision.model_helpers.activations import wrap\n"
        text = head + "".join(MODEL.format(index=index) for index in range(8))
        return {"__init__.py": register, "model.py": text, "helpers/resnet.py": text, **test}
    values = "".join(f"VALUE{index} = dict(sha1='{index:040}', bucket='brainscore')\n" for index in range(30))
    file = "data_packaging/pack.py" if kind == "data" else "metric.py"
    return {"__init__.py": values + register, file: MODEL.format(index=0) * 6, **test}


def make_tree(top: Path, n_plugins: int = N_PLUGINS, tree: str | None = None) -> int:
    """Write the repository and return how many plugins it has."""
    library = top / LIBRARY
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / LIBRARY, library, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", top)
    total = 0
    for kind, wanted in {**NUMBERS, "models": n_plugins - sum(NUMBERS.values())}.items():
        folder = library / kind
        names = {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}
        for source in sorted(Path(tree).rglob(f"{kind}/*/__init__.py")) if tree else ():
            if len(names) < wanted and source.parent.name not in names:
                shutil.copytree(source.parent, folder / source.parent.name, ignore=ignored)
                names.add(source.parent.name)
        for number in range(wanted - len(names)):
            for name, text in files_of(kind, number).items():
                file = folder / f"made{number}" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        total += max(wanted, len(names))
    git = ["git", "-C", str(top), "-c", "user.name=perf", "-c", "user.email=perf@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A", "--force"], ["commit", "-qm", "tree"]):
        subprocess.run([*git, *arguments], check=True)
    return total


def cases(top: Path, home: Path, repeats: int) -> dict[str, object]:
    changed = {"model": "models/made0/model.py", "metric": "metrics/made0/metric.py"}
    command = (sys.executable, ROOT / "scripts/plan.py")
    result: dict[str, object] = {}
    for name, path in changed.items():
        file = top / LIBRARY / path
        text = file.read_text(encoding="utf-8")
        times = []
        for repeat in range(repeats):
            file.write_text(f"{text}\nREPEAT = {repeat}\n", encoding="utf-8")
            shutil.rmtree(home, ignore_errors=True)
            times.append(run(*command, cwd=top, BRAINSCORE_HOME=str(home))[0])
        groups = json.loads(run(*command, "--json", cwd=top, BRAINSCORE_HOME=str(home))[1])["pairs"]
        pairs = sum(len(group["models"]) * len(group["benchmarks"]) for group in groups)
        result[f"{name} changed, cold"] = {**medians(times, 3), "pairs": pairs}
        file.write_text(text, encoding="utf-8")
    return result


if __name__ == "__main__":
    options = options_of(
        __doc__, repeats=size(5, 1), tree=(None, "folder with plugins to take, such as a checkout of the community's")
    )
    with tempfile.TemporaryDirectory() as name:
        top = Path(name) / "tree"
        plugins = make_tree(top, tree=options.tree)
        source = "plugins of the community" if options.tree else "this repository and made plugins"
        about = {"plugins": plugins, "processors": os.cpu_count(), "source": source, "target_s": TARGET_S}
        keep("plan", {**about, **cases(top, Path(name) / "home", options.repeats)})
