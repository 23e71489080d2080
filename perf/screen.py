"""Time how stimuli are placed on a screen, beside the published system.

500 pictures of 256 x 256 pixels with the spectrum of natural images, PNG: cold on a larger screen (8 degrees on one of
16) and on a smaller one (12 on 8), and the first of them again. Each measurement has an empty home. Wall-clock time
counts, since threads are part of it; other work on the machine disturbs the CPU time beside it less.
"""

import os
from pathlib import Path

from harness import Case, markdown, measure_cases, ratio_of, size, timed, verdict
from made_up_data import pictures, stimulus_set

N, SIDE_PX = size(500, 5), 256
CASES = {  # data: degrees of source and target
    "larger": Case("on a larger screen", 3.0, data=(8, 16)),
    "smaller": Case("on a smaller screen", 3.0, data=(12, 8)),
    "again": Case("again", data=(8, 16)),
}
REMARK = """
The published system finds converted stimuli by the name of their set alone, and would return those of other pictures
under the same name; here the content of each file is read again each time.
"""


def measure(case, folder):
    from brainscore_vision.benchmark_helpers.screen import place_on_screen

    source, target = CASES[case].data
    stimuli = stimulus_set(sorted(folder.glob("*.png")), "photographs")
    if case == "again":
        place_on_screen(stimuli, target_visual_degrees=target, source_visual_degrees=source)
    with timed() as spent:
        placed = place_on_screen(stimuli, target_visual_degrees=target, source_visual_degrees=source)
    size_mb = sum(Path(path).stat().st_size for path in placed.stimulus_paths.values()) / 1e6
    return {**spent, "size_mb": size_mb}


def table(results):
    rows = []
    for name, result in results.items():
        systems = [result.get("peer"), result["here"]]
        times = [f"{answer['wall_s']:.3g} / {answer['cpu_s']:.3g}" if answer else "-" for answer in systems]
        sizes = " / ".join(f"{answer['size_mb']:.1f}" if answer else "-" for answer in systems)
        ratio = ratio_of(result, "wall_s")
        rows.append(
            [CASES[name].title, *times, f"{ratio:.1f}" if ratio else "-", verdict(ratio, CASES[name].times), sizes]
        )
    head = ["what", "peer, s wall / CPU", "here, s wall / CPU", "times faster", "target", "MB peer / here"]
    return markdown(head, rows)


if __name__ == "__main__":
    measure_cases(
        __doc__,
        CASES,
        measure,
        prepare=lambda folder: pictures(folder, N, SIDE_PX),
        table=table,
        title="Stimuli on a screen",
        how=f"{N} pictures of {SIDE_PX} x {SIDE_PX} pixels, {os.cpu_count()} processors, best of 3.",
        remark=REMARK,
        by="wall_s",
        calls=3,
        threads=os.cpu_count(),
    )
