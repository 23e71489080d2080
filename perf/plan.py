"""Measure how long planning takes in a tree of 1,300 plugins, from starting the command to its last line.

The tree holds the plugins of this repository and made ones of the number, size and kind of those of the community;
`--tree DIR` takes plugins from below DIR instead of the made ones, as far as there are. Each number is the median over
processes of their own, with nothing in the cache: a job of CI always starts cold.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import keep, medians, run

ROOT = Path(__file__).parents[1]
LIBRARY = "vision/brainscore_vision"
NUMBERS = {"data": 100, "metrics": 50, "benchmarks": 110, "models": 1040}
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


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def make_model(folder: Path, number: int) -> None:
    """Write a model of the usual size; most are not small."""
    blocks = "".join(MODEL.format(index=index) for index in range(8))
    head = "import torch\nfrom torch import nn\nfrom brainscore_vision.model_helpers.activations import wrap\n"
    name = f"made{number}"
    write(folder, "__init__.py", REGISTER.format(kind="model", identifier=name, value=f"get_model('{name}')"))
    write(folder, "model.py", head + blocks)
    write(folder, "helpers/resnet.py", head + blocks)
    write(folder, "test.py", LOAD.format(function="load_model", identifier=name))


def make_benchmark(folder: Path, number: int) -> None:
    """Write a benchmark with several identifiers, that uses one data plugin and two metrics."""
    registered = [f"benchmark_registry['Made{number}.{index}-m'] = _Benchmark{index}" for index in range(3)]
    parts = [BENCHMARK.format(index=i, number=number % 50, metric=number % 25, other=number % 25) for i in range(7)]
    tests = "".join(TEST.format(index=index, number=number) for index in range(6))
    write(folder, "__init__.py", "from .benchmark import *\n\n" + "\n".join(registered))
    write(folder, "benchmark.py", "from brainscore_vision import load_ceiling, load_dataset\n" + "".join(parts))
    write(folder, "test.py", f"from brainscore_vision import load_benchmark\n\nclass TestIt:\n{tests}")


def make_other(folder: Path, kind: str, number: int) -> None:
    """Write data or a metric."""
    registry = kind.removesuffix("s")
    identifier = f"Data{number}.public" if kind == "data" else f"metric{number}"
    values = "".join(f"VALUE{index} = dict(sha1='{index:040}', bucket='brainscore')\n" for index in range(30))
    write(folder, "__init__.py", values + REGISTER.format(kind=registry, identifier=identifier, value="None"))
    function = "load_dataset" if kind == "data" else "load_metric"
    write(folder, "test.py", LOAD.format(function=function, identifier=identifier))
    write(folder, "data_packaging/pack.py" if kind == "data" else "metric.py", MODEL.format(index=0) * 6)


def make_tree(top: Path, tree: Path | None) -> int:
    """Write the repository and return how many plugins it has."""
    library = top / LIBRARY
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / LIBRARY, library, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", top)
    total = 0
    for kind, wanted in NUMBERS.items():
        folder = library / kind
        there = {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}
        for source in sorted(tree.rglob(f"{kind}/*/__init__.py")) if tree else ():
            if len(there) < wanted and source.parent.name not in there:
                shutil.copytree(source.parent, folder / source.parent.name, ignore=ignored)
                there.add(source.parent.name)
        for number in range(wanted - len(there)):
            plugin = folder / f"made{number}"
            if kind in {"models", "benchmarks"}:
                (make_model if kind == "models" else make_benchmark)(plugin, number)
            else:
                make_other(plugin, kind, number)
        total += max(wanted, len(there))
    git = ["git", "-C", str(top), "-c", "user.name=perf", "-c", "user.email=perf@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A", "--force"], ["commit", "-qm", "tree"]):
        subprocess.run([*git, *arguments], check=True)
    return total


def cases(top: Path, home: Path, repeats: int) -> dict[str, object]:
    """Return the median times of each case, and how many pairs it plans."""
    changed = {"model": "models/made0/model.py", "metric": "metrics/made0/metric.py"}
    command = (sys.executable, ROOT / "scripts/plan.py")
    result: dict[str, object] = {}
    for name, path in changed.items():
        file = top / LIBRARY / path
        text = file.read_text(encoding="utf-8")
        times = []
        for repeat in range(repeats):
            file.write_text(f"{text}# {repeat}\n", encoding="utf-8")
            shutil.rmtree(home, ignore_errors=True)
            times.append(run(*command, cwd=top, BRAINSCORE_HOME=str(home))[0])
        groups = json.loads(run(*command, "--json", cwd=top, BRAINSCORE_HOME=str(home))[1])["pairs"]
        pairs = sum(len(group["models"]) * len(group["benchmarks"]) for group in groups)
        result[f"{name} changed, cold"] = {**medians(times, 3), "pairs": pairs}
        file.write_text(text, encoding="utf-8")
    return result


def main() -> None:
    """Measure and write results/plan.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tree", type=Path, help="folder with plugins to take, such as a checkout of the community's")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        top = Path(name) / "tree"
        plugins = make_tree(top, options.tree)
        source = "this repository and made plugins" if options.tree is None else "plugins of the community"
        about = {"plugins": plugins, "processors": os.cpu_count(), "source": source, "target_s": TARGET_S}
        keep("plan", {**about, **cases(top, Path(name) / "home", options.repeats)})


if __name__ == "__main__":
    main()
