"""Test printing a plan for users."""

import dataclasses

from brainscore_ci.jobs.plan_change import duration, format_plan
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan, Refusal, Skip, TestTask
from brainscore_core.scoring.pairs import Pair

CHAIN = ("benchmarks/b", "uses metrics/m: load_metric('m') in b.py:3", "changed: m.py modified")
PLAN = Plan(
    base="b" * 40,
    head=None,
    event="local",
    changed=("a", "b"),
    tests=(
        TestTask(plugin=PluginName("benchmarks", "b"), reasons=CHAIN[1:], minutes=2, memory_gb=4, private_tests=3),
        TestTask(plugin=PluginName("metrics", "m"), reasons=CHAIN[2:], minutes=1, memory_gb=9.5),
    ),
    pairs=tuple(
        Pair(
            model=f"model{model}",
            benchmark=f"B{benchmark}",
            reasons=CHAIN,
            minutes=5,
            memory_gb=4,
            private=benchmark == 2,
        )
        for model in range(12)
        for benchmark in range(3)
    ),
    skipped=tuple(Skip(f"{number} private tests of x{number}", "private data") for number in range(5)),
    notes=("compared with main",),
)


def test_lists_every_part_of_a_plan():
    text = format_plan(PLAN)
    assert text == (
        "2 changed files:\n"
        "  compared with main\n"
        "\n"
        "Tests of 2 plugins, about 3 min, 9.5 GB of memory:\n"
        "  benchmarks/b  2 min, 4 GB, 3 private (left out)\n"
        "    because: uses metrics/m: load_metric('m') in b.py:3\n"
        "      <- changed: m.py modified\n"
        "  metrics/m  1 min, 9.5 GB\n"
        "    because: changed: m.py modified\n"
        "\n"
        "Merging this scores 12 models x 3 benchmarks, about 3 h, 1 private:\n"
        "  12 models x B0, B1  5 min each, 4 GB\n"
        "    because: benchmarks/b\n"
        "      <- uses metrics/m: load_metric('m') in b.py:3\n"
        "        <- changed: m.py modified\n"
        "  12 models x B2  5 min each, 4 GB, private data\n"
        "    because: benchmarks/b\n"
        "      <- uses metrics/m: load_metric('m') in b.py:3\n"
        "        <- changed: m.py modified\n"
        "\n"
        "Left out:\n"
        "  0 private tests of x0, 1 private tests of x1, 2 private tests of x2 and 2 more: private data\n"
    )


def test_plan_without_work():
    text = format_plan(dataclasses.replace(PLAN, tests=(), pairs=(), skipped=()))
    assert text.endswith("\nNothing has to be tested or scored.\n")


def test_refused_paths_come_first_and_are_escaped():
    refused = Refusal("models/x\x1b[31m\n/__init__.py", "names of plugin folders")
    text = format_plan(dataclasses.replace(PLAN, refused=(refused,), notes=("\x1b]0;x\x07",)))
    assert text.index("REFUSED") < text.index("Tests of")
    assert "'models/x\\x1b[31m\\n/__init__.py': names of plugin folders" in text
    assert text.replace("\n", "").isprintable()


def test_long_plans_are_truncated():
    task = PLAN.tests[1]
    many = tuple(dataclasses.replace(task, plugin=PluginName("metrics", f"m{number}")) for number in range(1000))
    text = format_plan(dataclasses.replace(PLAN, tests=many))
    assert text.count("metrics/m") < 60
    assert "--json shows all" in text


def test_formats_durations():
    shown = ", ".join(map(duration, (0.5, 1, 59.6, 119, 120, 6000)))
    assert shown == "30 s, 1 min, 60 min, 119 min, 2.0 h, 100.0 h"
