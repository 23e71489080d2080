"""Install real wheels into real interpreters, both created by the tests; no network is needed."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from brainscore_core.config import settings
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management import requirements
from brainscore_core.plugin_management._requirement_files import read_requirements
from brainscore_core.plugin_management.requirements import (
    install_command,
    install_requirements,
    is_satisfied,
    planned_versions,
)

from .conftest import make_wheel


class Interpreter:
    """A virtual environment that shares the running interpreter's packages and installs from a folder of wheels."""

    def __init__(self, folder: Path, wheels: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = folder / "bin" / "python"
        (self.site_packages,) = folder.glob("lib/python*/site-packages")
        (self.site_packages / "parent.pth").write_text("\n".join(path for path in sys.path if Path(path).is_dir()))
        self.environment = {
            **os.environ,
            "BS_INSTALL_DEPENDENCIES": "yes",
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": os.devnull,  # a machine's configuration may constrain versions
            "PIP_FIND_LINKS": str(wheels),
            "PATH": str(self.python.parent),  # no uv
        }

    def start(self, program: str, *arguments: object) -> subprocess.Popen:
        command = [self.python, "-c", program, *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=self.environment, text=True, **pipes)

    def install(self, directory: Path) -> tuple[str, str]:
        """Return what `install_requirements` returned (or its error) and its standard error."""
        return self.finish(self.start(INSTALL, directory.name, directory))

    def pip(self, *arguments: str) -> None:
        command = [self.python, "-m", "pip", "--quiet", *arguments]
        subprocess.run(command, env=self.environment, check=True)

    def remove(self, module: str) -> None:
        for path in self.site_packages.glob(f"{module}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    @staticmethod
    def finish(process: subprocess.Popen) -> tuple[str, str]:
        out, err = process.communicate(timeout=60)
        return out.strip(), err

    def version(self, module: str) -> str:
        return self.finish(self.start(f"import {module}; print({module}.VERSION)"))[0]


INSTALL = """
import sys
from pathlib import Path
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.requirements import install_requirements
try:
    print(install_requirements(sys.argv[1], Path(sys.argv[2])))
except RequirementsError as error:
    print('RequirementsError:', error)
"""


@pytest.fixture
def wheels(tmp_path):
    folder = tmp_path / "wheels"
    make_wheel(folder, "bs-example", "1.0")
    make_wheel(folder, "bs-example", "2.0")
    return folder


@pytest.fixture
def interpreter(tmp_path, wheels):
    return Interpreter(tmp_path / "interpreter", wheels)


def plugin(tmp_path, requirements_txt=None, setup_py=None, name="example_plugin"):
    directory = tmp_path / name
    directory.mkdir(exist_ok=True)
    if requirements_txt is not None:
        (directory / "requirements.txt").write_text(requirements_txt)
    if setup_py is not None:
        (directory / "setup.py").write_text(setup_py)
    return directory


def texts(directory):
    return [line.text for line in read_requirements(directory)]


# Reading the files ---------------------------------------------------------------------------------------------------


def test_requirements_syntax_is_read(tmp_path):
    (tmp_path / "shared.txt").write_text("scikit-image\n-r example_plugin/requirements.txt\n")
    (tmp_path / "example_plugin").mkdir()
    (tmp_path / "example_plugin/limits.txt").write_text("timm<2\n")
    directory = plugin(
        tmp_path,
        "\ufeff# a comment\n\ntimm >= 0.9  # why\neinops \\\n  <1\n-r ../shared.txt\n--extra-index-url "
        "https://x/#frag\n"
        "./wheels/x.whl\n-c limits.txt\nfoo==1 --hash=sha256:00\nbar @ git+https://host/bar.git@v1#egg=bar\n",
    )
    assert texts(directory) == [
        "timm >= 0.9", "einops    <1", "scikit-image", "--extra-index-url https://x/#frag",
        str(directory / "wheels/x.whl"), f"-c {directory / 'limits.txt'}", "foo==1 --hash=sha256:00",
        "bar @ git+https://host/bar.git@v1#egg=bar",
    ]  # fmt: skip
    parsed = {line.text: line.requirement for line in read_requirements(directory)}
    assert parsed["foo==1 --hash=sha256:00"] == Requirement("foo==1")
    assert parsed["--extra-index-url https://x/#frag"] is None


@pytest.mark.parametrize(
    "line",
    [
        *("brainscore_vision", "brainscore-core>=2", "model-tools", ".", "-e .", "-e .[test]"),
        *("imp", "collections", "pathlib", "importlib", "statistics"),
        "BrainIO @ git+https://github.com/brain-score/brainio.git",
        "git+https://github.com/brain-score/vision.git#egg=anything",
        "-e git+ssh://git@github.com/brain-score/vision.git",
        "colorama; sys_platform == 'no such platform'",
    ],
)
def test_unneeded_lines_are_dropped(tmp_path, line):
    assert texts(plugin(tmp_path, f"{line}\nneeded\n")) == ["needed"]


def test_setup_py_is_read_without_running_it(tmp_path):
    setup_py = (
        "raise RuntimeError\nfrom setuptools import setup, find_packages\nbase = ['torchvision', \"gdown>=4\"]\n"
        "requirements = base + ['imp']\nsetup(name='x', packages=find_packages(), install_requires=requirements)\n"
    )
    assert texts(plugin(tmp_path, "gdown>=4\ntimm\n", setup_py)) == ["torchvision", "gdown>=4", "timm"]


@pytest.mark.parametrize(
    ("setup_py", "expected"),
    [
        ("import setuptools\nsetuptools.setup(install_requires='a\\nb')", ["a", "b"]),
        ("setup(install_requires=open('requirements.txt').read().splitlines())", []),
        ("setup(install_requires=['a', secret])", ["a"]),
        ("setup(extras_require={'x': ['a']})", []),
        ("other(install_requires=['a'])", []),
    ],
)
def test_other_forms_of_setup_py_are_read(tmp_path, setup_py, expected):
    assert texts(plugin(tmp_path, setup_py=setup_py)) == expected


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"requirements.txt": "https://host/${AWS_SECRET_ACCESS_KEY}/x.whl\n"}, r"requirements\.txt:1"),
        ({"requirements.txt": "timm\n-r more.txt\n", "more.txt": "\n$HOME/x.whl\n"}, r"more\.txt:2"),
        ({"requirements.txt": "-c more.txt\n", "more.txt": "timm @ https://host/${HOME}\n"}, r"more\.txt:1"),
        ({"setup.py": "setup(\n install_requires=['x @ https://host/${HOME}'])"}, r"setup\.py:2"),
        ({"setup.py": "setup(install_requires=['timm\\n--index-url https://host'])"}, r"setup\.py:1"),
        ({"setup.py": "setup(install_requires=['--index-url https://host'])"}, r"setup\.py:1"),
        ({"requirements.txt": "-r more.txt\ntimm\n", "more.txt": "a\\b\n"}, r"more\.txt:1"),
    ],
    ids=["address", "included", "limits", "setup.py", "two lines", "option", "backslash"],
)
def test_rejects_lines_that_an_installer_reads_differently(tmp_path, files, place):
    directory = tmp_path / "plugin"
    directory.mkdir()
    for name, text in files.items():
        (directory / name).write_text(text)
    with pytest.raises(RequirementsError, match=rf"{place}: "):
        read_requirements(directory)


def test_repeatedly_included_file_is_read_once(tmp_path):
    directory = plugin(tmp_path, "-r 0.txt\n")
    for number in range(40):
        text = f"-r {number + 1}.txt\n" * 2 if number < 39 else "timm\n"
        (directory / f"{number}.txt").write_text(text)
    assert texts(directory) == ["timm"]


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(RequirementsError, match=r"setup\.py:1: cannot be read"):
        texts(plugin(tmp_path, setup_py="print 'python 2'"))
    with pytest.raises(RequirementsError, match=r"missing\.txt cannot be read"):
        texts(plugin(tmp_path, "-r missing.txt", name="other"))
    (tmp_path / "secret.txt").write_text("password\n")
    linking = plugin(tmp_path, name="linking")
    (linking / "requirements.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(RequirementsError, match="symbolic link"):
        read_requirements(linking)


# Which requirements are satisfied -------------------------------------------------------------------------------------


def test_requirement_is_satisfied_by_the_installed_version():
    version = metadata.version("numpy")
    lines = ["numpy", f"NumPy=={version}", f"numpy!={version}", "numpy<1", "no-such-distribution"]
    satisfied = [is_satisfied(Requirement(line)) for line in [*lines, "numpy @ https://host/numpy.whl"]]
    assert satisfied == [True, True, False, False, False, False]


@pytest.fixture
def fake_install(tmp_path, monkeypatch):
    """Return a function that makes a distribution look installed."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(name, version="1.0", requires=(), direct_url=None):
        with zipfile.ZipFile(make_wheel(tmp_path / "made", name, version, requires)) as wheel:
            wheel.extractall(tmp_path)
        if direct_url:
            (tmp_path / f"{name}-{version}.dist-info" / "direct_url.json").write_text(json.dumps(direct_url))

    return install


def test_extra_is_satisfied_only_with_its_requirements(fake_install):
    fake_install("has_extra", requires=["no-such-distribution; extra == 'more'", "also-absent"])
    assert is_satisfied(Requirement("has_extra"))
    assert not is_satisfied(Requirement("has_extra[more]"))
    fake_install("no_such_distribution")
    assert is_satisfied(Requirement("has_extra[more]"))


def test_url_is_satisfied_by_an_installation_from_it(fake_install):
    url = "https://host/x.git"
    git = {"vcs": "git", "commit_id": "0" * 40}
    fake_install("plain", direct_url={"url": url, "vcs_info": git})
    fake_install("revised", direct_url={"url": url, "vcs_info": {**git, "requested_revision": "v2"}})
    lines = (f"plain @ git+{url}", f"revised @ git+{url}@v2", f"revised @ git+{url}@v3", "plain @ git+https://a/x.git")
    assert [is_satisfied(Requirement(line)) for line in lines] == [True, True, False, False]


# Installing ----------------------------------------------------------------------------------------------------------


def test_installer_does_not_run_if_all_is_satisfied(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(requirements, "run_installer", None)
    directory = plugin(tmp_path, f"numpy=={metadata.version('numpy')}\nbrainscore_vision\nimp\n--pre\n")
    assert install_requirements("plugin", directory) is False
    assert install_requirements("plugin", plugin(tmp_path, name="without files")) is False
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_missing_requirements_are_installed_once_and_announced(tmp_path, interpreter):
    directory = plugin(tmp_path, "bs-example<2\nnumpy\n")
    assert interpreter.install(directory) == (
        "True",
        "Installing the requirements of plugin example_plugin: bs-example<2\n",
    )
    assert interpreter.version("bs_example") == "1.0"
    links, interpreter.environment["PIP_FIND_LINKS"] = interpreter.environment["PIP_FIND_LINKS"], "/nowhere"
    assert interpreter.install(directory) == ("False", "")  # another installation would fail
    interpreter.environment["PIP_FIND_LINKS"] = links
    interpreter.remove("bs_example")
    assert interpreter.install(directory)[0] == "True"


@pytest.mark.slow
def test_wheel_in_the_plugin_folder_is_installed_once(tmp_path, interpreter):
    directory = plugin(tmp_path, "./bs_local-3.0-py3-none-any.whl\n")
    make_wheel(directory, "bs-local", "3.0")
    assert interpreter.install(directory)[0] == "True"
    assert interpreter.version("bs_local") == "3.0"
    # It is not known whether a file is satisfied, so only the stamp prevents a second installation.
    assert interpreter.install(directory) == ("False", "")
    next((settings().cache_home / "requirements").glob("*.json")).write_text("damaged")
    assert interpreter.install(directory)[0] == "True"


@pytest.mark.slow
def test_failed_installation_error_has_command_status_and_output(tmp_path, interpreter):
    directory = plugin(tmp_path, "bs-absent\n")
    message, told = interpreter.install(directory)
    assert message.startswith(
        "RequirementsError: The requirements of plugin example_plugin (bs-absent) cannot be installed."
    )
    parts = [f"command: {interpreter.python} -P -m pip install", "exit status: 1", "BS_INSTALL_DEPENDENCIES=newenv"]
    parts.append("No matching distribution found for bs-absent")
    assert [part for part in parts if part not in message] == []
    assert told == "Installing the requirements of plugin example_plugin: bs-absent\n"
    assert interpreter.install(directory)[0].startswith("RequirementsError")  # the failure was not stamped as done


@pytest.mark.slow
def test_shell_characters_are_not_executed(tmp_path, interpreter):
    victim = tmp_path / "victim"
    assert "RequirementsError" in interpreter.install(plugin(tmp_path, f"bs-example; touch {victim}\n"))[0]
    assert not victim.exists()


@pytest.mark.slow
def test_concurrent_processes_install_once(tmp_path, interpreter):
    directory = plugin(tmp_path, "bs-example\n")
    processes = [interpreter.start(INSTALL, "example_plugin", directory) for _ in range(3)]
    results = [interpreter.finish(process) for process in processes]
    assert sorted(result for result, _ in results) == ["False", "False", "True"]
    assert sum("Installing" in told for _, told in results) == 1


def test_rejects_requirement_that_contradicts_the_library(tmp_path, monkeypatch):
    monkeypatch.setattr(requirements, "run_installer", None)
    numpy = metadata.version("numpy")
    expected = rf"requires numpy<2, the library requires numpy>=2, and numpy {numpy}"
    with pytest.raises(RequirementsError, match=expected) as caught:
        install_requirements("old", plugin(tmp_path, "numpy<2\n"))
    assert "newenv" in str(caught.value)


@pytest.mark.slow
def test_dependency_cannot_replace_a_shared_package(tmp_path, interpreter, wheels):
    make_wheel(wheels, "bs-old", requires=["pandas==0.1"])
    make_wheel(wheels, "pandas", "0.1")
    message, _ = interpreter.install(plugin(tmp_path, "bs-old\n"))
    assert f"would change packages that the library uses: pandas {metadata.version('pandas')} -> 0.1" in message


@pytest.mark.slow
def test_package_of_the_library_is_kept_and_named(tmp_path, interpreter, wheels):
    # The library uses bs-base 1 through bs-middle; the plugin's requirement needs bs-base 2.
    make_wheel(wheels, "brainscore-core", requires=("bs-middle",))
    make_wheel(wheels, "bs-middle", requires=("bs-base<2",))
    for version in ("1.0", "2.0"):
        make_wheel(wheels, "bs-base", version)
    make_wheel(wheels, "bs-greedy", requires=("bs-base>=2",))
    interpreter.pip("install", "--no-deps", "brainscore-core", "bs-middle", "bs-base==1.0")
    message, _ = interpreter.install(plugin(tmp_path, "bs-greedy\n"))
    assert "would change packages that the library uses: bs-base 1.0 -> 2.0. Nothing was installed." in message
    assert interpreter.version("bs_base") == "1.0"
    assert interpreter.version("bs_greedy") == ""
    message, _ = interpreter.install(plugin(tmp_path, "bs-base==2.0\n"))
    assert "conflict with the library: it requires bs-base==2.0, and bs-base 1.0 is installed" in message


@pytest.fixture
def torch_for_cpu(interpreter, wheels):
    """Install a torch built for the CPU, with a torchvision in the index that is not."""
    make_wheel(wheels, "torch", "9.0+cpu")
    make_wheel(wheels, "torchvision", "0.9", requires=("torch==9.0",))
    interpreter.pip("install", "--no-deps", "torch==9.0+cpu")


@pytest.mark.slow
@pytest.mark.usefixtures("torch_for_cpu")
def test_torchvision_for_another_torch_is_not_installed(tmp_path, interpreter):
    directory = plugin(tmp_path, "torchvision\n")
    message, _ = interpreter.install(directory)
    assert "No build of torchvision matches torch 9.0+cpu: torchvision 0.9 is built for another torch" in message
    assert "the installer cannot get torchvision==0.9+cpu from https://download.pytorch.org/whl/cpu" in message
    assert "Nothing was installed." in message
    assert interpreter.version("torchvision") == ""


@pytest.mark.slow
@pytest.mark.usefixtures("torch_for_cpu")
def test_torchvision_for_this_torch_is_installed(tmp_path, interpreter, wheels):
    make_wheel(wheels, "torchvision", "0.9+cpu", requires=("torch==9.0",))
    make_wheel(wheels, "bs-uses", requires=("torchvision",))
    for requirement in ("torchvision", "bs-uses", "torchvision==0.9"):
        assert interpreter.install(plugin(tmp_path, f"{requirement}\n", name=requirement[:11]))[0] == "True"
        assert interpreter.version("torchvision") == "0.9+cpu"
        interpreter.remove("torchvision")


@pytest.mark.slow
def test_plain_torchvision_is_installed_for_plain_torch(tmp_path, interpreter, wheels):
    make_wheel(wheels, "torch", "9.0")
    make_wheel(wheels, "torchvision", "0.9", requires=("torch==9.0",))
    interpreter.pip("install", "--no-deps", "torch==9.0")
    assert interpreter.install(plugin(tmp_path, "torchvision\n"))[0] == "True"


def test_dry_run_output_of_uv_is_parsed(tmp_path):
    said = "Resolved 2 packages in 5ms\nWould install 2 packages\n + torchvision==0.28.0\n + My_Package==1.0+cpu\n"
    assert planned_versions(tmp_path / "absent", said) == {"torchvision": "0.28.0", "my-package": "1.0+cpu"}


@pytest.mark.slow
def test_importing_a_plugin_installs_its_requirements(tmp_path, interpreter, library):
    source = "import bs_example\nmodel_registry['x'] = lambda: bs_example.VERSION"
    library.add("models", "needs", source, requirements__txt="bs-example==2.0\n")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from brainscore_core.plugin_management.import_plugin import import_plugin\n"
        "print(import_plugin(sys.argv[2], 'model', 'x')())"
    )
    out, told = interpreter.finish(interpreter.start(program, library.path.parent, library.name))
    assert (out, told) == ("2.0", "Installing the requirements of plugin needs: bs-example==2.0\n")
    interpreter.environment["BS_INSTALL_DEPENDENCIES"] = "perhaps"
    assert "ConfigurationError" in interpreter.finish(interpreter.start(program, library.path.parent, library.name))[1]


# The installer --------------------------------------------------------------------------------------------------------


@pytest.fixture
def programs(tmp_path, monkeypatch):
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_uv_is_preferred_and_gets_the_interpreter(programs, monkeypatch, tmp_path):
    uv = programs / "uv"
    uv.write_text(f'#!{sys.executable}\nimport sys\nprint("uv was asked:", *sys.argv[1:])\nsys.exit(2)\n')
    uv.chmod(0o755)
    assert install_command(sys.executable) == [str(uv), "pip", "install", "--python", sys.executable]
    with pytest.raises(RequirementsError, match=f"uv was asked: pip install --python {sys.executable} ") as caught:
        install_requirements("plugin", plugin(tmp_path, "no-such-distribution\n"))
    assert "exit status: 2" in str(caught.value)
    # uv ignores the packages of the layer below and would install torch again into every environment.
    assert install_command("python", layered=True)[:4] == [sys.executable, "-P", "-m", "pip"]
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    assert install_command("python")[-1] == "--offline"
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "data")  # this setting concerns data, not packages
    assert install_command("python") == [str(uv), "pip", "install", "--python", "python"]


@pytest.fixture
def credentials(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "k3yk3yk3y")
    monkeypatch.setenv("GITHUB_TOKEN", "t0k3nt0k3n")
    monkeypatch.setenv("PATH", "/nowhere")  # no uv
    monkeypatch.setenv("PIP_RETRIES", "0")


@pytest.mark.slow
def test_installer_does_not_see_credentials(tmp_path, credentials):
    """Building a distribution runs its author's code in the installer's environment."""
    source = tmp_path / "plugin/stealing"
    source.mkdir(parents=True)
    build = 'requires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (source / "pyproject.toml").write_text(f"[build-system]\n{build}")
    (source / "backend.py").write_text(f"import os\nopen({str(tmp_path / 'seen')!r}, 'w').write(str(os.environ))\n")
    with pytest.raises(RequirementsError) as caught:
        install_requirements("plugin", plugin(tmp_path, "./stealing\n", name="plugin"))
    seen = (tmp_path / "seen").read_text() + str(caught.value)
    assert "k3yk3yk3y" not in seen
    assert "t0k3nt0k3n" not in seen


def test_credentials_are_never_sent_to_a_server(tmp_path, credentials):
    """Installers expand environment variables in URLs."""
    asked = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/${{AWS_SECRET_ACCESS_KEY}}/x-1-py3-none-any.whl"
        with pytest.raises(RequirementsError):
            install_requirements("plugin", plugin(tmp_path, f"x @ {address}\n"))
        server.shutdown()
    assert "k3yk3yk3y" not in "".join(asked)


def test_pip_is_used_without_uv(programs, monkeypatch):
    start = [sys.executable, "-P", "-m", "pip"]
    assert install_command(sys.executable)[:5] == [*start, "install"]
    assert install_command("other")[:7] == [*start, "--python", "other", "install"]
    for offline, retries in {"0": "2", "data": "0", "1": "0"}.items():
        monkeypatch.setenv("BRAINSCORE_OFFLINE", offline)
        assert f"--retries {retries}" in " ".join(install_command(sys.executable))
    assert "--no-index" in install_command(sys.executable)
    monkeypatch.setattr(requirements.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RequirementsError, match="neither uv nor the module pip"):
        install_command(sys.executable)


def test_tail_has_the_last_lines():
    command = (sys.executable, "-c", "for i in range(100): print('line', i)")
    ended = requirements.run_bounded(list(command))
    assert (ended.command, ended.status) == (command, 0)
    assert ended.tail == "\n".join(f"line {i}" for i in range(80, 100))


@pytest.fixture
def silent():
    """Return the address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def refusing():
    """Return an address that refuses connections, because its server has closed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("kind", ["silent", "refusing"])
def test_unreachable_index_is_reported_before_the_installer_runs(kind, tmp_path, monkeypatch, request):
    address = request.getfixturevalue(kind)
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_INDEX_URL", address.replace("//", "//me:s3cret@") + "/simple")
    monkeypatch.setattr(requirements, "_ANSWER_S", 0.2)
    monkeypatch.setattr(requirements, "run_installer", None)  # must not be called
    with pytest.raises(RequirementsError) as caught:
        install_requirements("nets_by_name", plugin(tmp_path, "surely-not-installed==1\n", name="nets_by_name"))
    message = str(caught.value)
    assert message.startswith("The requirements of plugin nets_by_name (surely-not-installed==1) cannot be installed: ")
    assert f"cannot be reached (127.0.0.1: {'timed out' if kind == 'silent' else '[Errno '}" in message
    assert "PIP_INDEX_URL" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_index_that_answers_with_an_error_counts_as_reachable(tmp_path, monkeypatch):
    class Server(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_error(404)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
        lines = read_requirements(plugin(tmp_path, "surely-not-installed==1\n"))
        assert requirements._why_out_of_reach(lines) == ""
        server.shutdown()
