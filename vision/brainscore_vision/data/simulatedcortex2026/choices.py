"""Let simulated people choose a patch's photograph by their IT.

Models and people (by logistic regression on the expected responses of IT) learn from every second patch; the others are
tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly

from . import dataset

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["beliefs", "load_choices", "load_fitting_stimuli", "offer"]

IDENTIFIER = f"{dataset.IDENTIFIER}.choices"
TRIALS_PER_PAIR = 80  # for each patch and other photograph
PENALTY_C = 1e-3  # people err often, so few rates are 0 or 1
SEED = 2026


def load_fitting_stimuli() -> StimulusSet:
    """Load the 250 patches to learn from, with the column ``image_label``."""
    return _part(tested=False)


def load_choices(*, noise_free: bool = False) -> BehavioralAssembly:
    """Load people's choices, or their probability of each photograph.

    Choices have dims (presentation): the photograph chosen in each of 180,000 trials. If `noise_free`, dims
    (presentation, choice): probabilities of 10 photographs for 250 patches.
    """
    truth = dataset.load_assembly(noise_free=True)
    responses = truth.values[:, truth["region"].values == "IT", 0]
    labels = truth["object_name"].values.astype(str)
    tested = _is_tested(len(labels))
    names, images = np.unique(labels[tested], return_inverse=True)
    probabilities = beliefs(responses[tested], responses[~tested], labels[~tested])
    stimuli = _part(tested=True)
    ids = stimuli["stimulus_id"].to_numpy().astype(str)
    attrs = {
        "identifier": f"{IDENTIFIER}.truth" if noise_free else IDENTIFIER,
        "stimulus_set": stimuli,
        "stimulus_set_identifier": stimuli.identifier,
        "simulated": True,
        "seed": SEED,
    }
    if noise_free:
        coords: dict[str, Any] = {
            "stimulus_id": ("presentation", ids),
            "image_label": ("presentation", labels[tested]),
            "choice": ("choice", names),
        }
        return BehavioralAssembly(probabilities, coords=coords, dims=["presentation", "choice"], attrs=attrs)
    patch, other, choices = offer(probabilities, images, TRIALS_PER_PAIR, np.random.default_rng(SEED))
    columns = {
        "stimulus_id": ids[patch],
        "sample_obj": names[images[patch]],
        "truth": names[images[patch]],
        "dist_obj": names[other],
        "correct": choices == images[patch],
        "simulated": np.ones(len(patch), dtype=bool),
    }
    coords = {name: ("presentation", values) for name, values in columns.items()}
    return BehavioralAssembly(names[choices], coords=coords, dims=["presentation"], attrs=attrs)


def beliefs(responses: np.ndarray, learned: np.ndarray, labels: np.ndarray) -> np.ndarray:
    r"""Return the probability of each label by multinomial logistic regression on standardised responses.

    .. math:: \min_{W, b} \; C \sum_i -\log p_{i, y_i} + \tfrac{1}{2} |W|^2, \quad p_i = \mathrm{softmax}(W z_i + b)

    :math:`z` has mean 0 and variance 1 over the training responses, :math:`y` are their labels, :math:`C` is
    `PENALTY_C`. Responses have shape (n_images, n_neuroids), probabilities (n_images, n_labels), labels in ascending
    order.
    """
    from sklearn.linear_model import LogisticRegression  # slow to import

    mean, deviation = learned.mean(axis=0), learned.std(axis=0)
    readout = LogisticRegression(C=PENALTY_C, solver="newton-cg", tol=1e-8)
    readout.fit((learned - mean) / deviation, labels)
    probabilities: np.ndarray = readout.predict_proba((responses - mean) / deviation)
    return probabilities


def offer(
    probabilities: np.ndarray, shown: np.ndarray, trials_per_pair: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offer the right label and each other one, in random order of trials.

    `shown` holds the right label's column in the probabilities, shape (n_images, n_labels). Return for each trial the
    image, the other label, and the chosen one; the other one is chosen with its share of both probabilities.
    """
    images, others = (indices.ravel() for indices in np.indices(probabilities.shape))
    wrong = others != shown[images]
    order = rng.permutation(np.repeat(np.flatnonzero(wrong), trials_per_pair))
    image, other = images[order], others[order]
    own, against = probabilities[image, shown[image]], probabilities[image, other]
    choices = np.where(rng.random(len(order)) < against / (own + against), other, shown[image])
    return image, other, choices


def _is_tested(n_patches: int) -> np.ndarray:
    return np.arange(n_patches) % 2 == 1


def _part(*, tested: bool) -> StimulusSet:
    stimuli = dataset.load_stimuli()
    part = stimuli[_is_tested(len(stimuli)) == tested].reset_index(drop=True)
    part["image_label"] = part["object_name"]
    part.identifier = f"{dataset.IDENTIFIER}.{'tested' if tested else 'fitting'}"
    return part
