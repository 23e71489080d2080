"""Test which files of a plugin count: every file that can affect a score, whatever its name."""

import pytest

from brainscore_ci.planning import planner
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.checkout import read_own_checkout
from brainscore_ci.planning.facts import Reach
from brainscore_core.plugin_management.source import read_files

V = "vision/brainscore_vision"


def reach(folder, **files):
    for name, text in files.items():
        file = folder / name.replace("__", ".").replace("--", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Reach(read_files(folder))


COUNTED = (
    *("__init__.py", "model.py", ".hidden.py", "weights.json", "resources/table.csv", "requirements.txt"),
    "nested/test.py",
)
LEFT_OUT = (
    *("test.py", "test_more.py", "conftest.py", "tests/test_it.py", "tests/table.csv", "README.md", "citation.bib"),
    *("metadata.yml", "data_packaging/packaging.py"),
)


def test_unnamed_test_files_do_not_count(tmp_path):
    files = {"model__py": "x = 1  # a test\nwords = ('train', 'test')\n", "test__py": "import conftest, test_more\n"}
    made = reach(tmp_path, **files)
    assert [name for name in (*COUNTED, *LEFT_OUT) if made.changes_scores(name)] == list(COUNTED)


@pytest.mark.parametrize(
    ("source", "within"),
    [
        ("from .testing_utils import GAIN", "testing_utils.py"),
        ("from . import test_layers", "test_layers.py"),
        ("from . import test_layers as layers", "test_layers.py"),
        ("import brainscore_vision.models.mine.test_layers", "test_layers.py"),
        ("from ..mine.test import GAIN", "test.py"),
        ("from .tests.helper import GAIN", "tests/helper.py"),
        ("from .tests import *", "tests/helper.py"),
        ("from .data_packaging.layout import ORDER", "data_packaging/layout.py"),
        ("table = read('tests/table.csv')", "tests/table.csv"),
        ("table = read(HERE / 'tests' / name)", "tests/table.csv"),
        ("table = read(HERE / 'test_resources', name)", "test_resources/deep/table.csv"),
        ("path = Path(__file__).with_name('test_gain.py')", "test_gain.py"),
        ("path = Path(__file__).parent / 'README.md'", "README.md"),
        ("gain = read_yaml('metadata.yml')", "metadata.yml"),
    ],
)
def test_files_named_in_code_count(tmp_path, source, within):
    made = reach(tmp_path, model__py=f"{source}\n")
    assert made.changes_scores(within)
    assert not made.changes_scores("test_other.py")


@pytest.mark.parametrize(
    "source",
    [
        *("from importlib import import_module", "m = __import__(name)", "x = Path(__file__).parent / name"),
        *("x = Path(__file__).parent.glob('*')", "x = Path(__file__).with_name('a').parent / name"),
        *("x = Path(__file__).parent / 'a' / name", "x = os.path.join(os.path.dirname(__file__), name)"),
        *("x = Path(layers.__file__).read_text()", "x = importlib.resources.files(__package__)"),
        *("x = pkgutil.get_data(__name__, name)", "exec(open(name).read())", "x = eval(text)"),
        *("x = sys.modules[__name__]", "sys.path.append(name)", "x = inspect.getsource(f)"),
        *("x = sorted(os.listdir(folder))", "x = open('../mine/' + name)", "x = globals()[name]", "x = __path__[0]"),
    ],
)
def test_dynamic_file_access_makes_all_files_count(tmp_path, source):
    assert reach(tmp_path, model__py=f"{source}\n").changes_scores("test.py")


@pytest.mark.parametrize(
    "source",
    [
        "model.eval()\nx = re.compile('a')\ntorch.compile(model)",
        "x = (Path(__file__).parent / 'table.csv').read_text()",
        "x = Path(__file__).resolve().parent / 'a' / 'b.csv'",
        "x = load(requirements=Path(__file__).with_name('requirements.txt'))",
        "print('and so on...')",
        "from sklearn.model_selection import train_test_split",
    ],
)
def test_ordinary_code_makes_no_other_file_count(tmp_path, source):
    assert not reach(tmp_path, model__py=f"{source}\n").changes_scores("test.py")


def test_named_files_are_followed(tmp_path):
    files = {
        "model__py": "from .test_a import b\n",
        "test_a__py": "from .tests.b import c\n",
        "tests--b__py": "read('tests/table.csv')\n",
        "test__py": "from .tests.only import d\n",
    }
    made = reach(tmp_path, **files)
    assert [made.changes_scores(name) for name in ("test_a.py", "tests/b.py", "test.py")] == [True, True, False]


def test_oversized_file_makes_all_files_count(tmp_path):
    assert reach(tmp_path, model__py="x = 1\n" * 200_000).changes_scores("test.py")
    other = tmp_path / "other"
    other.mkdir()
    assert not reach(other, model__py="def broken(:\n").changes_scores("test.py")


def effect_of_edit(tree, path, text="GAIN = 2\n"):
    """Edit a file; return the models in the plan and whether the revision of the plugin `pixels` changes."""
    tree.commit()
    before = read_own_checkout(tree.path).revision(PluginName("models", "pixels"))
    tree.write(path, text)
    checkout = read_own_checkout(tree.path)
    plan = planner.plan_work_tree(checkout)
    return {pair.model for pair in plan.pairs}, checkout.revision(PluginName("models", "pixels")) != before


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("testing_utils.py", "from .testing_utils import GAIN\n"),
        ("test_layers.py", "from .test_layers import GAIN\n"),
        ("tests/helper.py", "from .tests.helper import GAIN\n"),
        (".hidden.py", "from importlib import import_module\n"),
    ],
)
def test_editing_a_named_file_scores_again(repository, name, source):
    repository.plugin("models/pixels", registers=[("model", "pixels")], model__py=source)
    repository.write(f"{V}/models/pixels/{name}", "GAIN = 1\n")
    assert effect_of_edit(repository, f"{V}/models/pixels/{name}") == ({"pixels"}, True)


def test_editing_unnamed_tests_does_not_score_again(repository):
    assert effect_of_edit(repository, f"{V}/models/pixels/test.py") == (set(), False)
    assert effect_of_edit(repository, f"{V}/models/pixels/tests/test_more.py") == (set(), False)


def test_editing_comments_does_not_score_again(repository):
    repository.plugin("models/pixels", registers=[("model", "pixels")], model__py='"""A."""\nGAIN = 1  # a\n')
    path = f"{V}/models/pixels/model.py"
    assert effect_of_edit(repository, path, '"""B."""\n\nGAIN = (1)\n# b\n') == (set(), False)
    plan = planner.plan_work_tree(read_own_checkout(repository.path))
    assert [str(task.plugin) for task in plan.tests] == ["models/pixels"]
    assert "1 changed file differs in comments, docstrings or layout alone." in plan.notes
    # A plugin that reads its docstrings.
    repository.write(
        f"{V}/models/pixels/__init__.py", "from . import model\nmodel_registry['pixels'] = model.__doc__\n"
    )
    assert effect_of_edit(repository, path, '"""C."""\nGAIN = 1\n') == ({"pixels"}, True)


def test_editing_a_shared_module_scores_both_plugins_again(repository):
    repository.write(f"{V}/models/pixels/test_gain.py", "GAIN = 1\n")
    source = "from brainscore_vision.models.pixels.test_gain import GAIN\n"
    repository.plugin("models/network", registers=[("model", "network")], model__py=source)
    assert effect_of_edit(repository, f"{V}/models/pixels/test_gain.py") == ({"network", "pixels"}, True)


def test_loads_in_a_test_like_module_count(repository):
    """The model imports the module, so changing a metric that it loads changes the model."""
    repository.plugin(
        "models/pixels",
        registers=[("model", "pixels")],
        model__py="from .testing_utils import weigh\n",
        testing_utils__py="weigh = load_metric('similarity')\n",
    )
    effect_of_edit(repository, f"{V}/metrics/similarity/metric.py")
    pairs = planner.plan_work_tree(read_own_checkout(repository.path)).pairs
    assert ("pixels", "Unrelated") in {(pair.model, pair.benchmark) for pair in pairs}


def test_folder_with_a_leading_underscore_is_refused(repository):
    repository.commit()
    repository.write(f"{V}/models/_shared/__init__.py", "GAIN = 1\n")
    refused = planner.plan_work_tree(read_own_checkout(repository.path)).refused
    assert [refusal.path for refusal in refused] == [f"{V}/models/_shared/__init__.py"]
