from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.jobs.plugin_tests import format_table
from brainscore_core.testing.outcomes import TestOutcome

OUTCOMES = st.lists(
    st.builds(
        TestOutcome,
        test=st.text(),
        part=st.sampled_from(["contract", "test.py"]),
        outcome=st.sampled_from(["passed", "failed", "error", "skipped", "deselected"]),
        seconds=st.floats(0, 1e5),
        reason=st.text(),
    )
)


@given(OUTCOMES)
def test_formats_arbitrary_outcomes(outcomes):
    assert format_table({"models/a": outcomes})


def test_table_equals_one_written_by_hand():
    outcomes = [
        TestOutcome(test="a::loads", part="contract", outcome="passed", seconds=1.26),
        TestOutcome(test="t1", part="test.py", outcome="failed", seconds=2.0),
        TestOutcome(test="t2", part="test.py", outcome="error", seconds=0.5),
        *(
            TestOutcome(test=f"p{n}", part="test.py", outcome="skipped", reason=f"Skipped: private: needs {n}")
            for n in range(4)
        ),
        TestOutcome(test="s", part="test.py", outcome="skipped", reason="other: no\n reason"),
        TestOutcome(test="u", part="test.py", outcome="deselected"),
    ]
    assert format_table({"models/a": outcomes}).splitlines() == [
        *("plugin    part      passed  failed  skipped   time", "models/a  contract       1       0        0  1.3 s"),
        "models/a  test.py        0       2        6  2.5 s",
        *(f"models/a: skipped 1, private: needs {n} (p{n})" for n in range(4)),
        *("models/a: skipped 1, no reason (s)", "models/a: skipped 1, deselected by -k or -m (u)"),
        "models/a: slowest: t1 2.0 s, a::loads 1.3 s",
    ]


def test_untested_plugin_gets_complete_reasons():
    where = f"network: https://host/weights.pth is not at /home/{'w' * 300}.pth. Put the file there."
    skipped = [
        TestOutcome(test=f"t{n}", part="test.py", outcome="skipped", reason=where) for n in reversed("abcdefghijklmnop")
    ]
    other = TestOutcome(test="gpu", part="contract", outcome="skipped", reason="gpu: there is none here")
    assert format_table({"models/a": [*skipped, other]}).splitlines()[3:] == [
        "models/a: nothing was tested: all 17 tests were skipped",
        f"models/a: skipped 16, {where} (ta, tb, tc, ...)",
        "models/a: skipped 1, gpu: there is none here (gpu)",
    ]
    many = [TestOutcome(test=f"t{n}", part="test.py", outcome="skipped", reason=f"network: {n}") for n in range(9)]
    assert format_table({"models/a": many}).splitlines()[-1] == "models/a: skipped 1, for 1 more reason"
