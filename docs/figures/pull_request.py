"""Draw the way of a pull request: which jobs run, on whose word, and with which rights."""

from pathlib import Path

import matplotlib.pyplot as plt
import yaml

WORKFLOWS = Path(__file__).parents[2] / ".github/workflows"
SAID = {
    "plan": "what can the\nchange affect?",
    "check": "rules, without\nimporting",
    "test": "contract and\nown tests",
    "preview": "scores on\npublic data",
    "leaderboard": "how the pages\nwould look",
    "report": "one summary",
    "gate": "all green?",
    "score": "every pair that\ncan have changed",
    "collect": "records on the\nbranch scores",
}


def measure():
    """Read which jobs there are and which wait for which, {workflow: {job: jobs it needs}}."""
    found = {}
    for workflow in ("plugins", "score"):
        jobs = yaml.safe_load(
            (WORKFLOWS / f"{workflow}.yml").read_text(encoding="utf-8")
        )["jobs"]
        needs = {name: job.get("needs", []) for name, job in jobs.items()}
        found[workflow] = {
            name: [each] if isinstance(each, str) else each
            for name, each in needs.items()
        }
    return found


def draw(jobs):
    """Draw the jobs of the pull request, the person, and the jobs after the merge."""
    figure, axes = plt.subplots(figsize=(9, 4.1))
    axes.set_axis_off()
    axes.set_xlim(0, 9)
    axes.set_ylim(0, 4.1)
    places = {
        "plan": (0.8, 2.3),
        "check": (2.4, 3.65),
        "test": (2.4, 2.75),
        "preview": (2.4, 1.85),
        "leaderboard": (2.4, 0.95),
        "report": (4.1, 2.9),
    }
    places |= {"gate": (4.1, 1.7)}
    for name, place in places.items():
        _box(axes, place, name, "#3b7dd8")
    drawn = [
        (needed, name)
        for name, needs in jobs["plugins"].items()
        for needed in needs
        if needed in places
    ]
    for needed, name in drawn:
        if (needed, name) in {
            ("plan", "report"),
            ("plan", "gate"),
        } or needed == "report":
            continue  # what follows from the other arrows
        _arrow(axes, places[needed], places[name])
    _box(axes, (5.8, 2.3), "review", "#d9822b", "a code owner\napproves, merges")
    _arrow(axes, places["gate"], (5.8, 2.3))
    _arrow(axes, places["report"], (5.8, 2.3))
    _box(axes, (7.9, 3.2), "score", "#2e9e6b")
    _box(axes, (7.9, 2.1), "collect", "#2e9e6b")
    _box(axes, (7.9, 1.0), "leaderboard", "#2e9e6b", "published to\nGitHub Pages")
    _arrow(axes, (5.8, 2.3), (7.75, 3.1))
    for y in (2.65, 1.55):
        axes.annotate(
            "",
            (7.9, y - 0.15),
            (7.9, y + 0.15),
            arrowprops={"arrowstyle": "->", "color": plt.rcParams["text.color"]},
        )
    for x, text in (
        (2.4, "pull request: no secrets, no write access"),
        (7.3, "after the merge: reviewed code"),
    ):
        axes.text(x, 0.2, text, ha="center", va="center", style="italic")
    return figure


def _box(axes, place, name, colour, said=None):
    axes.text(
        *place,
        f"{name}\n",
        ha="center",
        va="center",
        weight="bold",
        fontsize=11,
        linespacing=2.6,
    )
    style = {
        "boxstyle": "round,pad=0.45",
        "facecolor": colour,
        "alpha": 0.22,
        "edgecolor": colour,
    }
    axes.text(
        *place,
        "\n" + (said or SAID[name]),
        ha="center",
        va="center",
        fontsize=9.5,
        bbox=style,
    )


def _arrow(axes, start, end):
    arrow = {
        "arrowstyle": "->",
        "color": plt.rcParams["text.color"],
        "shrinkA": 0,
        "shrinkB": 0,
    }
    side = 0.62
    axes.annotate(
        "", (end[0] - side, end[1]), (start[0] + side, start[1]), arrowprops=arrow
    )
