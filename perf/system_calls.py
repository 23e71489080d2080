"""Record which system calls Python, its packages, an installer and shipped models make, for the list of allowed ones.

Needs ``strace``. Prints the calls that `ALLOWED` lacks, which a box answers with ENOSYS, and those recorded only here.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import options_of, size

from brainscore_core.scoring.isolation.system_calls import ALLOWED

_CALL = re.compile(r"^(?:\d+ +)?(?:<\.\.\. )?([a-z_0-9]+)(?:\(| resumed>)")
_LEARN = """
import torch
network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.LazyLinear(10))
images = torch.rand(64, 3, 32, 32)
for _ in range(3):
    network(images).sum().backward()
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images), batch_size=8, num_workers=2)
assert len(list(data)) == 8
torch.save(network.state_dict(), 'weights.pth')
torch.load('weights.pth', mmap=True)
"""
_SHARE = """
import concurrent.futures, multiprocessing, numpy, pathlib, subprocess, sys, threading
numpy.linalg.svd(numpy.random.default_rng(0).random((300, 300)))
numpy.lib.format.open_memmap('array.npy', mode='w+', shape=(1000, 1000))[:] = 1
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    list(pool.map(str, range(9)))
for way in ('fork', 'spawn', 'forkserver'):
    with multiprocessing.get_context(way).Pool(2) as pool:
        pool.map(abs, range(9))
subprocess.run([sys.executable, '-c', 'pass'], check=True)
subprocess.run('ls -la | sort | head -3; cp array.npy copy; rm copy', shell=True, check=True)
import asyncio, sqlite3, ssl, tempfile, urllib.request, zipfile
asyncio.run(asyncio.sleep(0))
sqlite3.connect('base.db').execute('create table t (x)')
"""
_LOOK = """
from PIL import Image
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_model
Image.new('RGB', (64, 64)).save('image.png')
stimuli = StimulusSet({{'stimulus_id': ['one']}})
stimuli.stimulus_paths = {{'one': 'image.png'}}
for name in {names!r}:
    try:
        model = load_model(name)
        model.start_recording('IT', [(70, 170)])
        model.look_at(stimuli)
    except Exception as error:
        print(name, type(error).__name__, str(error)[:100])  # without weights it has loaded as far as it can
"""


def recorded(command: list[str], folder: Path) -> set[str]:
    """Return the names of the system calls that a program and all it starts make."""
    trace = folder / "trace"
    ended = subprocess.run(["strace", "-f", "-qq", "-o", trace, "--", *command], cwd=folder, check=False)
    if ended.returncode:
        print(f"{command[:3]} ended with {ended.returncode}", file=sys.stderr)
    with trace.open(encoding="utf-8", errors="replace") as lines:
        return {match[1] for line in lines if (match := _CALL.match(line))}


if __name__ == "__main__":
    models = options_of(__doc__, models="pixels,gabor_bank,hmax_discs,alexnet,resnet18").models.split(",")
    python = [sys.executable, "-c"]
    programs = {
        "python": [*python, _SHARE],
        "torch": [*python, _LEARN],
        "venv and pip": ["sh", "-c", f"{sys.executable} -m venv e && e/bin/python -m pip download --no-deps six"],
        "uv": ["sh", "-c", "uv venv -q u && uv pip install -q --python u/bin/python six"],
        "models": [*python, _LOOK.format(names=models)],
    }
    with tempfile.TemporaryDirectory() as name:
        calls = {program: recorded(programs[program], Path(name)) for program in list(programs)[: size(5, 1)]}
    for program, names in calls.items():
        print(f"{program}: {len(names)} calls; not allowed: {', '.join(sorted(names - ALLOWED.keys())) or 'none'}")
    everything = set().union(*calls.values())
    margin = sorted(ALLOWED.keys() - everything)
    print(f"margin: {len(margin)} of {len(ALLOWED)} allowed calls were not recorded:")
    print(", ".join(margin))
