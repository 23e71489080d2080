"""The ceiling of odd-one-out choices is the agreement that the best answers reach; `benchmarks/hebart2023` tests the
rest of the design."""

import numpy as np
import pytest

from brainscore_core.errors import CeilingError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision.benchmark_helpers.behaviour.odd_one_out import OddOneOutBenchmark, highest_agreement
from brainscore_vision.testing.people import KnownAnswers
from brainscore_vision.testing.stand_ins import draw_stimuli


def judged(*rows):
    images = np.array([list(row) for row in rows])
    return answers_of(images[:, 2], **{f"image_{number + 1}": images[:, number] for number in range(3)})


def test_highest_agreement_matches_a_hand_computed_value():
    # Among a, b, c, three of four people choose c, in any order; among a, b, d, the two people choose differently.
    score = highest_agreement(judged("abc", "bac", "abc", "cba", "abd", "adb"))
    assert float(score) == pytest.approx((3 + 1) / 6)
    assert score.attrs == {"n_trials": 6, "quantity": "share"}


def test_highest_agreement_needs_repeated_triplets():
    with pytest.raises(CeilingError, match="None of the 2 triplets was judged twice"):
        highest_agreement(judged("abc", "abd"))


def test_no_answers_exceed_the_ceiling(tmp_path):
    generator = np.random.default_rng(0)
    people = judged(*("".join(generator.permutation(list("abc" if n % 2 else "abd"))) for n in range(60)))
    stimuli = draw_stimuli("Odd2024", 4, columns={"stimulus_id": list("abcd")}, size_px=16, folder=tmp_path)
    people.attrs["stimulus_set"] = stimuli
    settings = {"visual_degrees": 8, "parent": "behavior", "bibtex": ""}
    benchmark = OddOneOutBenchmark("Odd2024-odd_one_out", lambda: people, **settings)
    shown = [[str(people[f"image_{number}"].values[row]) for number in (1, 2, 3)] for row in range(60)]
    people.attrs.update(stimulus_set_identifier="Odd2024", identifier="Odd2024.people")
    raws = []
    for with_c in "abc":
        for with_d in "abd":
            answers = {"|".join(trial): with_c if "c" in trial else with_d for trial in shown}
            score = benchmark(KnownAnswers(answers))
            assert float(score) == pytest.approx(
                max(0, (float(score.raw) - 1 / 3) / (float(benchmark.ceiling) - 1 / 3))
            )
            raws.append(float(score.raw))
            assert (score.attrs["stimulus_set"], score.attrs["assembly"]) == ("Odd2024", "Odd2024.people")
    assert max(raws) == pytest.approx(float(benchmark.ceiling))


def test_rejects_people_who_guess():
    people = judged("abc", "bca", "cab")
    benchmark = OddOneOutBenchmark("Odd2024-odd", lambda: people, visual_degrees=8, parent="behavior", bibtex="")
    with pytest.raises(CeilingError, match="expected more than 1/3"):
        benchmark(KnownAnswers({}))
