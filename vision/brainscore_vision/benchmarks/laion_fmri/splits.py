"""Training and test images of LAION-fMRI, according to its authors' package ``laion-fmri``."""

from brainscore_core.errors import RequirementsError

SOURCE = "git+https://github.com/ViCCo-Group/LAION-fMRI.git@eee8400aa3214f310b840397f9f043b9c2da79b0"


def train_and_test_ids(split: str, pool: str) -> dict[str, set[str]]:
    """Return ``stimulus_id`` of training and of test images; `RequirementsError` without the package.

    The split is ``tau`` (test images are like training images, but far from each), ``ood`` (non-photographs),
    ``ood_<kind>`` (one of its nine kinds) or ``cluster_k5_<0 to 4>`` (a cluster of its own); the pool is ``shared``, or
    a subject.
    """
    try:
        from laion_fmri.splits import get_train_test_ids
    except ImportError as error:
        raise RequirementsError(
            "The splits of LAION-fMRI come with the package laion-fmri, which is not installed. Install it without "
            f"its dependencies, which only downloads need: pip install --no-deps 'laion-fmri @ {SOURCE}'"
        ) from error
    kind = {"ood_types": [split.removeprefix("ood_")]} if split.startswith("ood_") else {}
    train, test = get_train_test_ids("ood" if kind else split, pool=pool, **kind)
    return {"train": set(train), "test": set(test)}
