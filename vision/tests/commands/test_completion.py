import os
import shlex
import shutil
import subprocess
import sys

import pytest

from brainscore_vision.__main__ import main

PROGRAM = "from brainscore_vision.__main__ import main; import sys; sys.exit(main())"


def complete(**environment):
    """Run the program like the completion script of a shell."""
    command = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("brainscore comp", ["compare"]),
        ("brainscore score --model pix", ["pixels"]),
        ("brainscore score --model pixels gabor", ["gabor_bank"]),
        ("brainscore score --model pixels --benchmark SimulatedCortex2026.V1-p", ["pls", "pref_or"]),
        ("brainscore info internal_cons", ["internal_consistency", "internal_consistency_temporal"]),
        ("brainscore data info MajajHong2015.pub", ["MajajHong2015.public"]),
    ],
)
def test_names_are_completed(words, found, monkeypatch, capsys):
    def complete_here(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit):
            main([])
        return capsys.readouterr().out

    n_words = len(words.split()) - 1
    bash = complete_here(_BRAINSCORE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(n_words)).split()
    assert [name.removeprefix("SimulatedCortex2026.V1-") for name in bash] == found
    zsh = complete_here(_BRAINSCORE_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=words)
    assert all(f'"{name}' in zsh for name in bash)


def as_program(folder):
    program = folder / "brainscore"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(PROGRAM)} "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_completes_in_bash(tmp_path):
    script = complete(_BRAINSCORE_COMPLETE="source_bash")
    typed = (
        f"{script}\nCOMP_WORDS=(brainscore score --model pix); COMP_CWORD=3\n"
        '_brainscore_completion brainscore; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", typed], env=as_program(tmp_path), capture_output=True, text=True, check=True)
    assert done.stdout == "pixels\n"


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_completes_in_zsh(tmp_path):
    script = complete(_BRAINSCORE_COMPLETE="source_zsh")
    # _arguments prints its first suggestion, because the line editor needs a terminal.
    typed = (
        "compdef() { :; }; _arguments() { print -r -- $1; }\n"
        f"{script}\nwords=(brainscore score --model pix); CURRENT=4\n_brainscore_completion\n"
    )
    done = subprocess.run(
        ["zsh", "-f", "-c", typed], env=as_program(tmp_path), capture_output=True, text=True, check=True
    )
    assert '"pixels"' in done.stdout


def test_completion_does_not_import_plugins():
    code = (
        "import sys; from brainscore_vision.catalogue.completion import complete_identifier as c\n"
        "print(c('SimulatedCortex2026.V1-pls'), sorted({'numpy', 'torch', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['SimulatedCortex2026.V1-pls'] []\n"
