"""Time how stimuli are placed on a screen, beside the published system.

    python perf/screen.py --peer /path/to/peer/bin/python     # results/screen.json and a section of RESULTS.md
    python perf/screen.py                                     # here only, printed

500 pictures of 256 x 256 pixels with the spectrum of natural images, PNG: cold on a larger screen (8 degrees on one of
16) and on a smaller one (12 on 8), and the first of them again. Each measurement runs in a process of its own with an
empty home, here and in the published system in turn; the least of three. Wall-clock time counts, since threads are part
of it, and CPU time is said beside it, which other work on the machine disturbs less.
"""

import os
import tempfile
from pathlib import Path

from harness import compare, keep, markdown, options_of, ratio_of, say, timed, verdict

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
    """Return wall-clock and CPU seconds of one case, in either system."""
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.benchmark_helpers.screen import place_on_screen

    source, target, _ = CASES[case]
    stimuli = StimulusSet({"stimulus_id": [str(number) for number in range(N)]})
    stimuli.stimulus_paths = {str(number): folder / f"{number}.png" for number in range(N)}
    stimuli.identifier = "photographs"
    if case == "again":
        place_on_screen(stimuli, target_visual_degrees=target, source_visual_degrees=source)
    with timed() as spent:
        placed = place_on_screen(stimuli, target_visual_degrees=target, source_visual_degrees=source)
    size_mb = sum(Path(path).stat().st_size for path in placed.stimulus_paths.values()) / 1e6
    return {**spent, "size_mb": size_mb}


def section(results):
    """Return the table with its remark."""
    names = {"larger": "on a larger screen", "smaller": "on a smaller screen", "again": "again"}
    rows = []
    for case, result in results.items():
        here, peer, ratio = result["here"], result["peer"], ratio_of(result, "wall_s")
        times = [f"{answer['wall_s']:.3g} / {answer['cpu_s']:.3g}" for answer in (peer, here)]
        size = f"{peer['size_mb']:.1f} / {here['size_mb']:.1f}"
        rows.append([names[case], *times, f"{ratio:.1f}", verdict(ratio, CASES[case][2]), size])
    head = ["what", "peer, s wall / CPU", "here, s wall / CPU", "times faster", "target", "MB peer / here"]
    how = f"{N} pictures of {SIDE_PX} x {SIDE_PX} pixels, {os.cpu_count()} processors, best of {ROUNDS}."
    remark = (
        "The published system finds converted stimuli by the name of their set alone, and would return those of other "
        "pictures under the same name; here the content of each file is read again each time."
    )
    return f"`python perf/screen.py --peer PYTHON`: {how}\n\n{markdown(head, rows)}\n\n{remark}"


def main():
    """Measure and write the table."""
    options = options_of(__doc__, CASES, calls=ROUNDS)
    if options.measure:
        say(measure(options.measure[0], Path(options.measure[1])))
        return
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder))
        systems = dict.fromkeys(CASES, ("here", "peer"))
        results = compare(__file__, systems, options, folder, by="wall_s", threads=os.cpu_count())
    if options.peer:
        keep("screen", results, title="Stimuli on a screen", text=section(results))


if __name__ == "__main__":
    main()
