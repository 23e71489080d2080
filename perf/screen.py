"""Time how stimuli are placed on a screen, beside the published system.

    python perf/screen.py --peer /path/to/peer/bin/python     # results/screen.json and a section of RESULTS.md
    python perf/screen.py                                     # here only, printed

500 pictures of 256 x 256 pixels with the spectrum of natural images, PNG: cold on a larger screen (8 degrees on one of
16) and on a smaller one (12 on 8), and the first of them again. Each measurement runs in a process of its own with an
empty home, here and in the published system in turn; the least of three. Wall-clock time counts, since threads are part
of it, and CPU time is said beside it, which other work on the machine disturbs less.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from data_standards import replace_section

HERE = Path(__file__).parent
RESULTS, TABLE = HERE / "results" / "screen.json", HERE / "RESULTS.md"
TITLE = "## Stimuli on a screen"
N, SIDE_PX, ROUNDS = 500, 256, 3
CASES = {"larger": (8, 16, 3.0), "smaller": (12, 8, 3.0), "again": (8, 16, None)}  # source, target, times faster


def draw(folder):
    """Write pictures whose amplitude falls with spatial frequency, like that of photographs (Field 1987)."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    frequency = np.hypot(np.fft.fftfreq(SIDE_PX)[:, None], np.fft.rfftfreq(SIDE_PX)[None, :])
    fall = 1 / np.maximum(frequency, 1 / SIDE_PX)
    for number in range(N):
        field = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((3, SIDE_PX, SIDE_PX))) * fall)
        pixels = 128 + 45 * field / field.std()
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8).transpose(1, 2, 0)).save(folder / f"{number}.png")


def measure(case, folder):
    """Print wall-clock and CPU seconds of one case. Runs in both systems."""
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.benchmark_helpers.screen import place_on_screen

    source, target, _ = CASES[case]
    stimuli = StimulusSet({"stimulus_id": [str(number) for number in range(N)]})
    stimuli.stimulus_paths = {str(number): folder / f"{number}.png" for number in range(N)}
    stimuli.identifier = "photographs"
    if case == "again":
        place_on_screen(stimuli, target_visual_degrees=target, source_visual_degrees=source)
    wall, cpu = time.perf_counter(), time.process_time()
    placed = place_on_screen(stimuli, target_visual_degrees=target, source_visual_degrees=source)
    found = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    found["size_mb"] = sum(Path(path).stat().st_size for path in placed.stimulus_paths.values()) / 1e6
    print(json.dumps(found))


def run(python, case, folder, environment):
    """Measure a case once, with an empty home."""
    with tempfile.TemporaryDirectory() as home:
        homes = {"HOME": home, "BRAINSCORE_HOME": home, "RESULTCACHING_HOME": home, "BS_INSTALL_DEPENDENCIES": "no"}
        command = [python, __file__, "--measure", case, "--folder", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**environment, **homes})
    return json.loads(done.stdout.splitlines()[-1])


def main():
    """Parse, measure, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter with the published packages")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.folder)
        return
    published = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    systems = {"here": (sys.executable, dict(os.environ))}
    if options.peer:
        systems["peer"] = (options.peer, published)
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder))
        for case in CASES:
            rounds = [
                {name: run(python, case, folder, env) for name, (python, env) in systems.items()} for _ in range(ROUNDS)
            ]
            result[case] = {
                name: {key: round(min(each[name][key] for each in rounds), 4) for key in rounds[0][name]}
                for name in systems
            }
            print(case, json.dumps(result[case]), flush=True)
    if options.peer:
        RESULTS.write_text(json.dumps(result, indent=2) + "\n")
        TABLE.write_text(replace_section(TABLE.read_text(), TITLE, section(result)))


def section(result):
    """Return the table in Markdown."""
    names = {"larger": "on a larger screen", "smaller": "on a smaller screen", "again": "again"}
    size = f"{N} pictures of {SIDE_PX} x {SIDE_PX} pixels"
    lines = [
        f"`python perf/screen.py --peer PYTHON`: {size}, {os.cpu_count()} processors, best of {ROUNDS}.",
        "",
        "| what | peer, s wall / CPU | here, s wall / CPU | times faster | target | MB peer / here |",
        "|---|---|---|---|---|---|",
    ]
    for case, found in result.items():
        here, peer, target = found["here"], found["peer"], CASES[case][2]
        ratio = peer["wall_s"] / here["wall_s"]
        said = "-" if target is None else f">= {target:g}: {'yes' if ratio >= target else 'no'}"
        lines.append(
            f"| {names[case]} | {peer['wall_s']:.3g} / {peer['cpu_s']:.3g} | {here['wall_s']:.3g} / "
            f"{here['cpu_s']:.3g} | {ratio:.1f} | {said} | {peer['size_mb']:.1f} / {here['size_mb']:.1f} |"
        )
    remark = (
        "The published system finds converted stimuli by the name of their set alone, and would return those of other "
        "pictures under the same name; here the content of each file is read again each time."
    )
    return "\n".join([*lines, "", remark])


if __name__ == "__main__":
    main()
