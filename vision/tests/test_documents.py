"""Run every Python snippet of the README and of the documentation, page by page, as a reader would."""

import dataclasses
import importlib
import importlib.util
import math
import re
from pathlib import Path

import pytest

import brainscore_vision
from brainscore_core.plugin_management.index import PluginIndex, PluginRoot, library_roots
from brainscore_core.plugin_management.registrations import table_of
from brainscore_core.plugin_management.registry import KINDS
from brainscore_vision.catalogue.model_tables import Row, published_rows

ROOT = Path(__file__).parents[2]
DOMAIN = "brainscore_vision"
KINDS_HERE = ("metrics", "models")
FOLDERS = (".", "core", "scripts", "vision", "web")
PAGES = [*(ROOT / folder / "README.md" for folder in FOLDERS), *sorted((ROOT / "docs").rglob("*.md"))]
SNIPPET = re.compile(r"^```python\n(.*?)^```$(?:\n\n```output\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
PAGE = "page_of_the_documentation"
WITH_SNIPPETS = [page for page in PAGES if SNIPPET.search(page.read_text())]


@pytest.fixture(autouse=True)
def registries_restored():
    """Remove the registrations of a page; those of loaded plugins stay, because their modules stay imported."""
    yield
    index = PluginIndex(library_roots("brainscore_vision"))
    for kind in KINDS.values():
        registry = getattr(brainscore_vision, kind.registry)
        for identifier in registry.keys() - index.owners(kind).keys():
            del registry[identifier]


@pytest.fixture(scope="module")
def cache(tmp_path_factory, lend_caches):
    return lend_caches(tmp_path_factory.mktemp("pages")) / "cache"


@pytest.fixture
def one_cache(own_homes, cache):
    """Let all pages share a cache, as for a reader of several pages; each page has its own scores."""
    (own_homes / "brain-score").mkdir()
    (own_homes / "brain-score" / "cache").symlink_to(cache, target_is_directory=True)


@pytest.mark.slow  # scores every pair on every page
@pytest.mark.usefixtures("one_cache")
@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: str(page.relative_to(ROOT)))
def test_snippets_run_and_print_the_output_on_the_page(page, capsys):
    names = {"__name__": PAGE}
    for number, (snippet, said) in enumerate(SNIPPET.findall(page.read_text()), start=1):
        capsys.readouterr()
        exec(compile(snippet, f"{page.name}, snippet {number}", "exec"), names)  # noqa: S102 - our own documents
        if said:
            assert capsys.readouterr().out == said, f"{page.name}, snippet {number}"


def test_every_output_block_belongs_to_a_snippet():
    for page in PAGES:
        text = page.read_text()
        assert text.count("```output") == sum(bool(said) for _, said in SNIPPET.findall(text)), page


@pytest.mark.parametrize(
    "kind", ["tutorials", "gallery", "how-to", "explanation", "explanation/decisions", "reference"]
)
def test_every_page_is_listed_in_its_index(kind):
    listed = (ROOT / "docs" / kind / "index.md").read_text()
    navigation = listed.partition("{toctree}")[2].split()
    folder = ROOT / "docs" / kind
    pages = {page.stem for page in folder.glob("*.md")} - {"index"}
    pages |= {f"{index.parent.name}/index" for index in folder.glob("*/index.md")}
    assert pages == set(navigation) - {":hidden:", "```"}
    assert [page for page in pages if f"[]({page}.md)" not in listed] == []


def test_main_jobs_have_a_tutorial():
    for job in ("model", "neural_benchmark", "behavioral_benchmark", "metric"):
        text = (ROOT / f"docs/tutorials/write_a_{job}.md").read_text()
        assert SNIPPET.search(text)
        assert re.search(rf"nox -s new_plugin -- (data )?{job.rpartition('_')[2]} ", text)
    text = (ROOT / "docs/tutorials/write_a_model.md").read_text()
    shown = [said for snippet, said in SNIPPET.findall(text) if "look_at" in snippet]
    assert len(shown) == 4, "a recording and three tasks, each with what is printed"
    assert all(shown)


def test_reference_covers_every_module_that_pages_import():
    """Every module that a page imports from is in the tables of the reference or is the front door of its package."""
    reference = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    described = set(re.findall(r"(?:^   |automodule:: )(brainscore_[\w.]+)", reference, re.MULTILINE))
    # The front door, the command line, and modules that the tutorials of the published system import.
    names = ("", ".__main__", ".benchmarks", ".benchmark_helpers.neural_common")
    doors = {f"brainscore_vision{name}" for name in names}
    for page in PAGES:
        snippets = "".join(snippet for snippet, _ in SNIPPET.findall(page.read_text()))
        imported = set(re.findall(r"^\s*from (brainscore_(?:core|vision)[\w.]*) import", snippets, re.MULTILINE))
        unknown = imported - described - doors
        assert {name for name in unknown if not any(each.startswith(f"{name}.") for each in described)} == set(), page


def test_code_blocks_fit_their_pages():
    fence = re.compile(r"^```(?:bash|sh|text|output|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    for page in (ROOT / "docs").rglob("*.md"):
        lines = "".join(fence.findall(page.read_text())).splitlines()
        assert [line for line in lines if len(line) > 88] == [], page


def test_readme_names_the_python_of_its_first_command():
    noxfile, readme = (ROOT / "noxfile.py").read_text(), (ROOT / "README.md").read_text()
    assert 'WORKSPACE = ROOT / ".nox" / ("workspace-oldest" if OLDEST else "workspace")' in noxfile
    in_python = readme.partition("## In Python")[2].partition("```python")[0]
    assert "`.nox/workspace/bin/python first.py`" in in_python


def test_pages_with_snippets_were_found():
    assert {"README.md", "first_score.md", "scores.md"} <= {page.name for page in WITH_SNIPPETS}


@pytest.fixture
def facts(monkeypatch):
    """Return a function that imports a module which generates a part of the reference from plugins."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return lambda name: importlib.import_module(f"facts.{name}")


@pytest.fixture
def add_plugin(tmp_path, facts, monkeypatch):
    """Return a function that adds a plugin to the library, as read by the reference, or to another folder."""
    own = PluginIndex(library_roots("brainscore_vision")).roots
    outside = PluginRoot(folder="metrics", path=tmp_path / "lab/metrics", package=f"{DOMAIN}.metrics", rank=1)
    others = [PluginRoot(folder=kind, path=tmp_path / "own" / kind, package=f"{DOMAIN}.{kind}") for kind in KINDS_HERE]
    index = PluginIndex([*own, *others, outside])
    monkeypatch.setattr(facts("plugins"), "plugin_index", lambda: index)

    def add(folder, registration, *, place="own", **files):
        kind = folder.partition("/")[0].removesuffix("s")
        init = f'"""Register my | own: first."""\nfrom {DOMAIN} import {kind}_registry\n{registration}\n'
        path = tmp_path / place / folder
        path.mkdir(parents=True)
        for name, text in {"__init__": init, **files}.items():
            (path / f"{name}.py").write_text(text)

    return add


def test_reference_shows_every_metric_of_the_library(facts):
    identifiers = PluginIndex(library_roots(DOMAIN)).identifiers(KINDS["metric"])
    page = (ROOT / "docs/reference/metrics.md").read_text()
    assert "```{tabled} metrics\n" in page
    text = facts("metrics").table()
    assert len(identifiers) > 40
    assert [name for name in identifiers if f"`{name}`" not in text] == []
    documented = re.findall(r"automodule:: ([\w.]+)", text)
    assert [module for module in documented if importlib.util.find_spec(module) is None] == []
    assert not re.search(r"^## `", page, re.MULTILINE), "sections of metrics are written from plugins"


def test_reference_shows_a_new_metric_without_importing_it(add_plugin, facts):
    add_plugin("metrics/median", "metric_registry['median'] = object", metric="raise SystemExit('imported')")
    add_plugin("metrics/loose", "metric_registry['loose'] = object\nraise SystemExit('imported')")
    add_plugin("metrics/elsewhere", "metric_registry['elsewhere'] = object", place="lab", metric="")
    add_plugin(
        "metrics/needy", "from .metric import x\nmetric_registry['needy'] = x", metric="import a_package_of_nobody\n"
    )
    text = facts("metrics").table()
    assert "## `median`\n\n```{eval-rst}\n.. automodule:: brainscore_vision.metrics.median.metric\n```" in text
    assert ".. automodule:: brainscore_vision.metrics.loose\n" in text
    assert "elsewhere" not in text
    needy = text.partition("## `needy`\n\n")[2].partition("\n\n##")[0]
    assert needy == "My \\| own: first\n\n*Its plugin `needy` needs a_package_of_nobody.*"


def test_reference_shows_a_new_model_and_a_new_scheme(add_plugin, facts):
    network = "IT = 'x'\nREGION_LAYER_MAP = {'V1': 'conv1', 'V4': ['a', 'b', 'c']}\nraise SystemExit('imported')"
    add_plugin("models/mymodel", "from .model import x\nmodel_registry['mymodel'] = x", model=network)
    add_plugin("models/computed", "REGION_LAYER_MAP = {'V1': f()}\nmodel_registry['computed:'] = object")
    rows = facts("every_model").table().splitlines()
    assert "| `mymodel` | `mymodel` | My \\| own: first | `conv1` |  | `a` to `c` |  |" in rows
    assert "| `computed:` | `computed` | My \\| own: first |  |  |  |  |" in rows
    index = PluginIndex(library_roots(DOMAIN))
    names = {row.split("`")[1] for row in rows[2:]}
    assert set(index.identifiers(KINDS["model"])) - set(published_rows()) <= names
    assert set(index.identifiers(KINDS["model"], schemes=True)) <= names
    assert "```{tabled} every_model\n" in (ROOT / "docs/reference/models.md").read_text()


def format_layers(layers):
    return f"`{layers}`" if isinstance(layers, str) else f"`{layers[0]}` to `{layers[-1]}`"


def n_parameters(identifier):
    """Return the number of parameters in the table of published names and shapes."""
    lines = (ROOT / f"vision/tests/model_helpers/architectures/state_dicts/{identifier}.txt").read_text().splitlines()
    counters = (".running_mean", ".running_var", ".num_batches_tracked")
    shapes = [shape for name, shape in map(str.split, lines) if not name.endswith(counters)]
    return sum(math.prod(map(int, shape.split("x"))) for shape in shapes)


def test_facts_of_hand_written_models_are_right():
    lines = (ROOT / "docs/reference/models.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    told = {cells[0].strip("`"): cells for cells in rows}
    assert {"pixels", "hmax_discs", "resnet50", "cornet_s", "dinov2_vits14"} <= set(told)
    index = PluginIndex(library_roots("brainscore_vision"))
    tables = {plugin.name for plugin in index.plugins("models") if table_of(plugin.directory).is_file()}
    assert all(f"`{name}`" in "\n".join(lines) for name in tables)
    for plugin in index.plugins("models"):
        if plugin.name in tables or not told.keys() & set(plugin.identifiers(KINDS["model"])):
            continue
        module = importlib.import_module(f"{plugin.module}.model")
        mapped = getattr(module, "REGION_LAYER_MAP", {})
        weights = getattr(module, "WEIGHTS", {})
        for identifier in told.keys() & set(plugin.identifiers(KINDS["model"])):
            for region, cell in zip(("V1", "V2", "V4", "IT"), told[identifier][-4:], strict=True):
                assert not mapped or cell == (format_layers(mapped[region]) if region in mapped else "")
            published = weights.get(identifier) if isinstance(weights, dict) else weights
            if published:
                assert told[identifier][1] == f"{n_parameters(identifier):,}"
                assert told[identifier][3] == published.licence


def test_reference_explains_every_row_of_a_table(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    lines = importlib.import_module("facts.models").table().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    told = {identifier.strip("`"): others for identifier, *others in cells}
    assert "```{tabled} models\n" in (ROOT / "docs/reference/models.md").read_text()
    rows = published_rows()
    assert {name: told[name] for name, row in rows.items() if row.reason} == {
        name: [row.reason] for name, row in rows.items() if row.reason
    }
    assert told["CORnet-S"][3] == "`decoder.avgpool-t0`"
    for name, row in rows.items():
        if row.reason:
            continue
        network, pictures, layers, readout, degrees, weights = told[name]
        assert (network.split(",")[0], degrees) == (f"`{row.source}`", row.degrees or "8")
        assert row.pictures in ("", pictures)
        assert all(f"{region} `{layer}`" in layers for region, layer in row.region_layer_map.items())
        assert row.readout in ("", readout.strip("`"))
        assert row.digest[:8] in weights
        assert weights.endswith("published as a pickle") == bool(row.pickle)
        assert len(readout) > 2
        assert weights


def test_reference_formats_every_kind_of_row(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    cells = importlib.import_module("facts.models")._cells
    row = Row(
        identifier="a", source="resnet18", weights="hub:lab/net@main/a.pth", classes="7", layers="fc", readout="fc"
    )
    assert cells(row) == (
        "`a`", "`resnet18`, 7 outputs", "square 224, imagenet", "of 1: `fc`", "`fc`", "8", "huggingface.co, `lab/net`"
    )  # fmt: skip
    row = Row(identifier="b", source="timm:c", V1="d", IT="e", readout="f", degrees="4", background="1", padding="260")
    assert cells(row) == (
        "`b`", "`timm:c`, without that of the background, padded for 260 pixels", "library", "V1 `d`, IT `e`",
        "`f`", "4", "timm",
    )  # fmt: skip
    assert cells(dataclasses.replace(row, weights="s3://x/y", digest="0123456789"))[-1] == "S3, `x`, `01234567`"
    unpickled = dataclasses.replace(row, weights="https://x/y", pickle="dill")
    assert cells(unpickled)[-1] == "x, published as a pickle"
    assert cells(dataclasses.replace(row, weights="random"))[-1] == "random, seed 0"
