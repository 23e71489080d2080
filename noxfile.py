"""One session for each thing CI does; nothing runs only in CI.

`nox -s score` scores a model, `nox -s tests` runs the tests; `nox --list` shows all. Sessions that run the library
share one environment, `.nox/workspace`: the first of them installs, the others reuse it until a requirement changes.
What installers print is shown if they fail, and by `nox -v`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import nox

if sys.version_info < (3, 11):  # noqa: UP036 - nox itself also runs on older ones, where the rest would fail oddly
    sys.exit(f"Brain-Score needs Python 3.11 or newer, this is {sys.version.split()[0]}: run nox with a newer Python.")

ROOT = Path(__file__).parent
OLDEST = os.environ.get("BRAINSCORE_DEPENDENCIES") == "oldest"  # of each requirement the lowest version allowed
WORKSPACE = ROOT / ".nox" / ("workspace-oldest" if OLDEST else "workspace")
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
LIBRARY = ("core/brainscore_core", "vision/brainscore_vision")
PLUGIN_KINDS = ("data", "metrics", "benchmarks", "models")
# Scripts in perf/, in the order they run; what `metrics` measures on comes from made_up_data.
MEASUREMENTS = (
    "first_score", "plugin_index", "plan", "simulated_truth", "ceiling_truth", "geometry_truth",
    "data_standards", "metrics", "gpu", "costs", "limits", "coverage", "coverage_behaviour", "bias", "weak_models",
    "activations", "memory_budget", "benchmarks", "screen", "whole_board", "isolation", "comparison",
    "leaderboard", "leaderboard_pages", "suite_durations", "system_calls", "portal",
)  # fmt: skip
# What tests find around them, other than developers have it: no test may hang on how output is buffered, on the width
# of the terminal, on the language or on the time zone (in the form that Windows reads too).
SURROUNDINGS = {
    "PYTHONUNBUFFERED": None,
    "PYTHONDONTWRITEBYTECODE": None,
    "COLUMNS": "60",
    "LC_ALL": "C",
    "TZ": "CHA-12:45",
    "OMP_NUM_THREADS": "1",  # for each of the two test processes: more would only compete for the cores
}
# What needs data or more than an ordinary machine runs when it is named, wherever those are.
DEFAULT_TESTS = "not (private_access or network or gpu or slow or memory_intense)"
PUBLISHED_FILES = "core/tests/fixtures/peer_files.py"
PUBLISHED_SCORES = "vision/tests/metric_helpers/fixtures/peer_cases.py"
PUBLISHED_PROPERTIES = "vision/tests/benchmark_helpers/fixtures/peer_properties.py"
PUBLISHED_ACTIVATIONS = (
    "vision/tests/model_helpers/activations/fixtures/peer_trials.py",
    "vision/tests/model_helpers/activations/temporal/fixtures/peer_video.py",
)
PUBLISHED_NETWORKS = "vision/tests/model_helpers/fixtures/peer_models.py"
# What published plugins of models import. With transformers 5, layers of CLIP have other names than in their maps.
PUBLISHED_LIBRARIES = (
    "albumentations==2.0.8", "dill==0.4.1", "efficientnet_pytorch==0.7.1", "gdown==6.5.1", "h5py==3.16.0",
    "huggingface_hub==0.36.2", "pytorch_lightning==2.6.6", "robustness==1.2.1.post2", "timm==1.0.31",
    "transformers==4.57.6", "wget==3.2",
)  # fmt: skip
TRIALS = "vision/tests/test_measurements.py"
ON_SLURM = "core/tests/scoring/cluster/test_slurm.py"
DEFAULT_PAIR = ("--model", "efficientnet_lite0", "--benchmark", "SimulatedCortex2026.IT-pls")
EMBEDDED_MODELS = ("pixels", "gabor_bank", "efficientnet_lite0")  # what needs no download but packages, and is quick
EMBEDDED_BENCHMARKS = tuple(f"SimulatedCortex2026.{region}-pls" for region in ("V1", "V2", "V4", "IT"))

# Rules of harper that the pages do not follow: taste (title case, Oxford comma, units in words), or no match for
# identifiers, terms (distractor), formulas and table cells. Its spelling check knows no identifiers; codespell checks
# spelling.
UNUSED_STYLE_RULES = (
    "CompoundNouns", "ExpandControl", "ExpandMemoryShorthands", "ExpandTimeShorthands", "LongSentences", "MassNouns",
    "NumericRangeEnDash", "OrthographicConsistency", "OxfordComma", "PhrasalVerbAsCompoundNoun",
    "SentenceCapitalization", "Spaces", "SpellCheck", "SplitWords", "UseEllipsisCharacter", "UseTitleCase",
    "WrongNegative",
)  # fmt: skip

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["lint", "types", "imports", "tests"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_external_run = True
# nox looks for uv for every environment and says that it found none, which nobody has to mend: pip does the same.
logging.getLogger("nox").addFilter(lambda record: is_verbose() or record.msg != "uv binary not found.")


# -- what people run ---------------------------------------------------------------------------------------------------


@nox.session(python=False)
def score(session: nox.Session) -> None:
    """Score a model: `nox -s score -- --model efficientnet_lite0 --benchmark SimulatedCortex2026.IT-pls`."""
    python = workspace(session)
    arguments = session.posargs or DEFAULT_PAIR
    codes = (0, 4) if "--offline" in arguments else (0,)  # 4: pairs were left out, as was asked for
    session.run(python, "-m", "brainscore_vision", "score", *arguments, external=True, success_codes=codes)


@nox.session(python=False)
def leaderboard(session: nox.Session) -> None:
    """Score shipped models on the embedded benchmarks and show the leaderboard: `nox -s leaderboard`.

    With arguments, it is `brainscore leaderboard`: `nox -s leaderboard -- serve --made-up 40x12`.
    """
    python = workspace(session)
    if session.posargs:
        session.run(python, "-m", "brainscore_web", "leaderboard", *session.posargs, external=True)
        return
    arguments = ("--model", *EMBEDDED_MODELS, "--benchmark", *EMBEDDED_BENCHMARKS)
    codes = (0, 1, 3, 4)  # of some pairs there is no score; the board shows those that there are
    session.run(python, "-m", "brainscore_vision", "score", *arguments, external=True, success_codes=codes)
    session.run(python, "-m", "brainscore_web", "leaderboard", "serve", external=True)


@nox.session(python=False)
def portal(session: nox.Session) -> None:
    """Take uploads on this machine, without any account: `nox -s portal`; with arguments, it is `brainscore portal`."""
    python = workspace(session, "portal")
    arguments = session.posargs or ("serve", "--demo")
    session.run(python, "-m", "brainscore_web", "portal", *arguments, external=True)


@nox.session(python=False)
def test_plugin(session: nox.Session) -> None:
    """Test plugins: `nox -s test_plugin -- myexperiment2024 [more names or paths] [pytest arguments]`."""
    python = workspace(session, "test")
    # Paths are meant as seen from where nox was started; the session runs in the repository.
    there = Path(session.invoked_from)
    arguments = [str(there / each) if (there / each / "__init__.py").is_file() else each for each in session.posargs]
    session.run(python, "-m", "brainscore_ci", "test_plugin", *arguments, external=True)


@nox.session(python=False)
def check(session: nox.Session) -> None:
    """Check plugins without importing them: `nox -s check -- myexperiment2024` or `-- --changed`."""
    session.run(workspace(session), "-m", "brainscore_ci", "check", *session.posargs, external=True)


@nox.session(python=False)
def new_plugin(session: nox.Session) -> None:
    """Start a plugin: `nox -s new_plugin -- benchmark MyExperiment2024`."""
    session.run(workspace(session), "-m", "brainscore_ci", "new_plugin", *session.posargs, external=True)


@nox.session(python=False)
def validate(session: nox.Session) -> None:
    """Check data against the data standard: `nox -s validate -- PATH_OR_PLUGIN`."""
    python = workspace(session)
    arguments = ("validate", "--library", "brainscore_vision", *session.posargs)
    session.run(python, "-m", "brainscore_core", *arguments, external=True)


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """Run the tests of all packages and of the plugins: `nox -s tests [-- pytest arguments]`."""
    python = workspace(session, "test")
    arguments = session.posargs or ["-n", "auto", "-m", DEFAULT_TESTS]
    session.run(python, "-m", "pytest", *arguments, external=True, env=SURROUNDINGS)


@nox.session(python=False)
def elsewhere(session: nox.Session) -> None:
    """Run the tests in a clone whose path has a space and a non-ASCII letter, with an empty home."""
    with tempfile.TemporaryDirectory(prefix="höme of ") as place:
        clone, home = Path(place, "clone"), Path(place, "home")
        home.mkdir()
        session.run("git", "clone", "--quiet", str(ROOT), str(clone), external=True)
        with session.chdir(clone):
            tests_there = ("-m", "nox", "-s", "tests", "--", *session.posargs)
            session.run(sys.executable, *tests_there, external=True, env={"HOME": str(home)})


@nox.session(python=False)
def slow(session: nox.Session) -> None:
    """Run the slow proofs, such as a hundred processes killed at random moments."""
    python = workspace(session, "test")
    arguments = session.posargs or [
        "-n",
        "auto",
        "--dist",
        "worksteal",
        "--durations=30",
        "--ignore",
        ON_SLURM,
        "--ignore",
        TRIALS,
    ]
    # Not what needs more than time: published numbers, for instance, are of data that are not public.
    marked = "slow and not (private_access or network or gpu)"
    # A test that waits for ever fails, with the line that it waits on: without this, one such test ends the whole job
    # without a report. The longest takes four minutes on idle cores.
    hung = ("-o", "faulthandler_timeout=1200", "-o", "faulthandler_exit_on_timeout=true")
    session.run(python, "-m", "pytest", "-m", marked, *hung, *arguments, external=True, env=SURROUNDINGS)


@nox.session(python=False)
def slurm(session: nox.Session) -> None:
    """Score on a real Slurm of one node, whose jobs are cancelled, killed and cut off; needs root, slurm-wlm, munge."""
    python = workspace(session, "test")
    # Each has a Slurm of its own; one waits for two minutes until the time of its job is over.
    arguments = session.posargs or ["-rs", "-n", "2", "--dist", "worksteal", ON_SLURM]
    session.run(python, "-m", "pytest", "-m", "slow", *arguments, external=True, env=SURROUNDINGS)


@nox.session
def frameworks(session: nox.Session) -> None:
    """Test with torchvision, timm, transformers, open_clip and ONNX Runtime, in their own environment."""
    install_torch(session, str(Path(session.bin) / "python"))
    session.install("-c", "constraints.txt", "-e", ".[test]", *extra("frameworks"))
    # Without their requirements, which ask for the build of torch that brings CUDA.
    session.install(
        "--no-deps", "torchvision==0.28.0", "timm==1.0.31", "open_clip_torch==3.3.0", "brainscore_language==2.3.0"
    )
    arguments = session.posargs or ["-n", "auto"]
    session.run("python", "-m", "pytest", "vision/tests/frameworks", *arguments, env=SURROUNDINGS)


@nox.session(python=False)
def newcomer(session: nox.Session) -> None:
    """Run the README's first command and a new plugin of each kind, as a newcomer would, in this clean checkout."""
    session.run("bash", "scripts/newcomer.sh", external=True)


@nox.session(python=False)
def plan(session: nox.Session) -> None:
    """Show what a change has to be tested and scored on: `nox -s plan -- [--base main] [--json]`."""
    session.run(workspace(session), "-m", "brainscore_ci", "plan", *session.posargs, external=True)


@nox.session(python=False)
def install(session: nox.Session) -> None:
    """Prepare the environment that sessions share, so that others install nothing (`-- docs types`: for these too)."""
    workspace(session, "test", *session.posargs)


@nox.session(python=False)
def score_shard(session: nox.Session) -> None:
    """Score the pairs of one job of a plan: `nox -s score_shard -- --shard 0 --plan plan.json --records records`."""
    python = workspace(session, "test")
    session.run(python, "-m", "brainscore_ci", "score_pairs", *session.posargs, external=True)


# -- house rules -------------------------------------------------------------------------------------------------------


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting with ruff (`nox -s lint -- --fix` mends what it can)."""
    session.install(*extra("lint"))
    others = ("--extend-exclude", ",".join(contributed())) if contributed() else ()
    session.run("ruff", "check", *others, *session.posargs)
    session.run("ruff", "format", *others, *([] if "--fix" in session.posargs else ["--check"]))


@nox.session(python=False)
def types(session: nox.Session) -> None:
    """Check the types of the library with mypy, strictly."""
    python = workspace(session, "test", "types")  # the pytest plugin that ships with the library is checked too
    session.run(python, "-m", "mypy", *session.posargs, external=True)


@nox.session
def imports(session: nox.Session) -> None:
    """Check the direction of imports (contracts in pyproject.toml)."""
    session.install(*extra("imports"))
    session.env["PYTHONPATH"] = os.pathsep.join(str(ROOT / folder) for folder in ("core", "vision", "scripts", "web"))
    session.run("lint-imports", *session.posargs)


@nox.session(python=False)
def docs(session: nox.Session) -> None:
    """Build the documentation into docs/_build and look at it; a warning fails, and so does what a browser cuts off."""
    python = workspace(session, "docs", "test")
    programs = Path(python).parent
    others = ("--skip", ",".join(f"./{folder}" for folder in contributed())) if contributed() else ()
    session.run(str(programs / "codespell"), *others, external=True)  # configured in pyproject.toml
    patterns = ("README.md", "*/README.md", "docs/**/*.md")
    pages = sorted(str(path) for pattern in patterns for path in ROOT.glob(pattern))
    harper = (str(programs / "harper"), "--no-color", "lint", "--dialect", "British", "--format", "compact")
    session.run(*harper, "--ignore", ",".join(UNUSED_STYLE_RULES), *pages, external=True)
    session.run(python, "-m", "sphinx", "-W", "--keep-going", "-j2", "-b", "html", "docs", "docs/_build", external=True)
    at_once = ("-n", "2", "--dist", "worksteal")
    session.run(python, "-m", "pytest", *at_once, "docs/tests", *session.posargs, external=True)


@nox.session
def build(session: nox.Session) -> None:
    """Build all distributions into dist/; with a tag, only if it is that of the version."""
    version = nox.project.load_toml(ROOT / "pyproject.toml")["project"]["version"]
    if session.posargs and session.posargs != [f"v{version}"]:
        session.error(f"The tag is {session.posargs[0]!r}, the version is {version}: tag v{version}.")
    session.install(*extra("build"))
    for folder in ("core", "vision", "scripts", "web"):
        session.run("python", "-m", "build", "--no-isolation", "--outdir", "dist", folder, silent=True)
        wheel = next((ROOT / "dist").glob(f"brainscore_{folder.replace('scripts', 'ci')}-*.whl"))
        listed = subprocess.check_output(["git", "-C", f"{ROOT / folder}", "ls-files", "brainscore_*"], text=True)
        if absent := set(listed.split()) - set(zipfile.ZipFile(wheel).namelist()):
            session.error(f"{wheel.name} has not: {', '.join(sorted(absent))}")
    session.log(f"built: {', '.join(sorted(path.name for path in (ROOT / 'dist').iterdir()))}")


@nox.session
def workflows(session: nox.Session) -> None:
    """Lint the workflow files, then run them on small repositories (`-- lint`: only the first; or pytest arguments)."""
    session.install(*extra("workflows"))
    files = sorted(map(str, (ROOT / ".github/workflows").glob("*.yml")))
    forms = sorted(str(path) for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
    session.run("actionlint", "-no-color", "-oneline")
    session.run("zizmor", "--offline", "--no-progress", "--no-config", "--persona=auditor", ".")
    for schema, checked in (
        ("github-workflows", files),
        ("github-actions", [".github/actions/prepare/action.yml"]),
        ("github-issue-forms", forms),
        ("github-issue-config", [".github/ISSUE_TEMPLATE/config.yml"]),
        ("dependabot", [".github/dependabot.yml"]),
    ):
        session.run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *checked)
    if session.posargs == ["lint"]:
        return
    python = workspace(session, "test")
    tools = {name.upper(): str(Path(session.bin) / name) for name in ("act", "nox")}
    arguments = session.posargs or ["-n", "auto", "--dist", "worksteal"]  # those of one first push run side by side
    environment = {**tools, "OMP_NUM_THREADS": "1"}
    session.run(python, "-m", "pytest", "scripts/tests/workflows", *arguments, external=True, env=environment)


@nox.session(python=False)
def perf(session: nox.Session) -> None:
    """Measure speed: `nox -s perf [-- names of scripts in perf/]`; results go to perf/results."""
    python = workspace(session)
    for name in session.posargs or MEASUREMENTS:
        session.run(python, f"perf/{name}.py", external=True, env={"OMP_NUM_THREADS": "1"})


@nox.session(python=False)
def trials(session: nox.Session) -> None:
    """Run every script of perf/ on little data, to see that it still works."""
    python = workspace(session, "test")
    session.run(python, "-m", "pytest", "-m", "slow", TRIALS, *session.posargs, external=True, env=SURROUNDINGS)


@nox.session(python=False)
def coverage(session: nox.Session) -> None:
    """Run the tests and print the branch coverage of the library, without what runs in its own processes."""
    python = workspace(session, "test", "mutants")
    arguments = session.posargs or ["-n", "auto", "-m", DEFAULT_TESTS]
    session.run(python, "-m", "pytest", "--cov", "--cov-report=term", *arguments, external=True, env=SURROUNDINGS)


@nox.session(python=False)
def mutants(session: nox.Session) -> None:
    """Measure the share of random faults that the tests notice; changes files of this checkout and puts them back."""
    python = workspace(session, "test", "mutants")
    session.run(python, "perf/mutants.py", *session.posargs, external=True)


@nox.session(python="3.11", default=False)
def peer(session: nox.Session) -> None:
    """Exchange files and compare scores and models with the published system, in its own environment.

    `-- --write` writes the published answers that the tests compare with anew; `-- --perf` also compares speed;
    `-- --models NAMES` compares only these models, `-- --models` the drawn ones.
    """
    python, published = workspace(session), str(Path(session.bin) / "python")
    install_torch(session, published)
    session.install("brainscore-core==2.5.0", "brainscore-vision==2.4.2", *PUBLISHED_LIBRARIES)
    # Without this the published system installs requirements of plugins wherever the first pip of the path points to.
    environment = {"OMP_NUM_THREADS": "1", "BS_INSTALL_DEPENDENCIES": "no", "RESULTCACHING_DISABLE": "1"}
    # Networks of libraries are compared in the environment of `frameworks`, which has them beside our library.
    session.run(sys.executable, "-m", "nox", "-s", "frameworks", "--install-only", external=True)
    with_libraries = str(Path(session.bin).parent.with_name("frameworks") / Path(session.bin).name / "python")
    named = session.posargs[session.posargs.index("--models") + 1 :] if "--models" in session.posargs else []
    session.run(with_libraries, PUBLISHED_NETWORKS, "--peer", published, *named, external=True, env=environment)
    if "--models" in session.posargs:
        return
    session.run(python, PUBLISHED_FILES, "--peer", published, "--check", external=True, env=environment)
    how = [] if "--write" in session.posargs else ["--check"]
    for script in (PUBLISHED_SCORES, PUBLISHED_PROPERTIES, *PUBLISHED_ACTIVATIONS):
        session.run(published, "-W", "ignore", script, *how, external=True, env=environment)
    compared = ("data_standards", "metrics", "activations", "benchmarks", "screen")
    for name in compared if "--perf" in session.posargs else ():
        session.run(python, f"perf/{name}.py", "--peer", published, external=True, env=environment)


# -- the shared environment --------------------------------------------------------------------------------------------


def workspace(session: nox.Session, *extras: str) -> str:
    """Prepare `.nox/workspace` with the library and some extras of pyproject.toml; return its Python.

    A stamp holds the digest of everything that was installed; while it is unchanged nothing is installed again.
    """
    if prepared := os.environ.get("BRAINSCORE_PYTHON"):  # an environment somebody has prepared: nothing is installed
        return prepared
    python = WORKSPACE / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not read_stamp("environment"):
        shutil.rmtree(WORKSPACE, ignore_errors=True)
        session.log("First run: making the shared environment .nox/workspace; later runs reuse it.")
        quietly(session, sys.executable, "-I", "-m", "virtualenv", "--quiet", str(WORKSPACE))
        stamp("environment").write_text("made", encoding="utf-8")  # only now: an interrupted one is made anew
    wanted = {"torch": digest("constraints.txt", os.environ.get("BRAINSCORE_TORCH", "cpu"))}
    for name in ("base", *extras):
        wanted[name] = digest("constraints.txt", "pyproject.toml", name)
    missing = [name for name, value in wanted.items() if read_stamp(name) != value]
    if "torch" in missing:
        install_torch(session, str(python))
    targets = [name for name in missing if name != "torch"]
    if targets:
        session.log(
            f"Installing Brain-Score with: {', '.join(targets)} (once; one to three minutes on a fast network) ..."
        )
        names = ",".join(name for name in targets if name != "base")
        target = f".[{names}]" if names else "."
        quietly(session, *installer(str(python)), "-c", "constraints.txt", "-e", target)
    for name in missing:
        stamp(name).write_text(wanted[name], encoding="utf-8")
    return str(python)


def install_torch(session: nox.Session, python: str) -> None:
    """Install the CPU build of torch, or the platform's default build if BRAINSCORE_TORCH=gpu."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = next(line for line in lines if line.startswith("torch=="))
    if os.environ.get("BRAINSCORE_TORCH", "cpu") == "gpu" or not sys.platform.startswith("linux"):
        session.log(f"Installing {pinned} (the platform's default build; with a GPU several GB) ...")
        quietly(session, *installer(python), pinned)
        return
    session.log(f"Installing {pinned}, CPU build (about 200 MB; set BRAINSCORE_TORCH=gpu for the GPU build) ...")
    # On Linux the default build brings gigabytes of CUDA. A configured mirror may hold the CPU build; else its own
    # index does. The first attempt asks for a version that only a CPU build has, so it cannot bring the other one.
    # Its failure is no news.
    mirrored = subprocess.run([*installer(python), f"{pinned}+cpu"], capture_output=not is_verbose(), check=False)
    if mirrored.returncode != 0:
        quietly(session, *installer(python), pinned, "--index-url", CPU_INDEX)


def quietly(session: nox.Session, *command: str) -> None:
    """Run an installer; what it prints is shown if it fails, its command too with `nox -v`."""
    session.run_install(*command, external=True, silent=True, log=is_verbose())


def is_verbose() -> bool:
    """Return whether nox was started with -v, which shows everything that commands print."""
    return logging.getLogger().isEnabledFor(logging.DEBUG - 1)


def installer(python: str) -> list[str]:
    """Return the command that installs into an environment: uv where it is found, else pip, and none lying here."""
    uv = shutil.which("uv")
    if OLDEST and uv is None:
        sys.exit("BRAINSCORE_DEPENDENCIES=oldest needs uv, which can choose them: pip install uv.")
    oldest = ["--resolution", "lowest-direct"] if OLDEST else []
    return [uv, "pip", "install", "--python", python, *oldest] if uv else [python, "-I", "-m", "pip", "install"]


def contributed() -> list[str]:
    """Return the folders of plugins that do not ship: `check` holds them to its rules, linters only those that do."""
    shipped = set((ROOT / "vision/tests/shipped_plugins.txt").read_text(encoding="utf-8").split())
    library = ROOT / "vision/brainscore_vision"
    folders = [file.parent for kind in PLUGIN_KINDS for file in sorted(library.glob(f"{kind}/*/__init__.py"))]
    names = [folder.relative_to(library).as_posix() for folder in folders]
    return [f"vision/brainscore_vision/{name}" for name in names if name not in shipped]


def extra(name: str) -> list[str]:
    """Return the requirements of one extra of pyproject.toml, for a session with its own environment."""
    return list(nox.project.load_toml(ROOT / "pyproject.toml")["project"]["optional-dependencies"][name])


def digest(*parts: str) -> str:
    """Return the digest of some parts: the content of those that are files of the root, else the text itself."""
    contents = [(ROOT / part).read_text(encoding="utf-8") if (ROOT / part).is_file() else part for part in parts]
    return hashlib.sha256("\0".join(contents).encode()).hexdigest()


def stamp(name: str) -> Path:
    """Return the file that says for which digest a part was installed."""
    return WORKSPACE / f"installed-{name}.txt"


def read_stamp(name: str) -> str:
    """Return the digest a part was installed for, empty if it was not."""
    return stamp(name).read_text(encoding="utf-8") if stamp(name).is_file() else ""
