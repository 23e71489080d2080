"""Predict responses from several sets of features, each with its own penalty, and report the contribution of each."""

from brainscore_vision import metric_registry

from .metric import BandedRidgeCorrelation

metric_registry["banded_ridge"] = BandedRidgeCorrelation

BIBTEX = """@article{dupre2022feature,
  title={Feature-space selection with banded ridge regression},
  author={Dupr{\\'e} la Tour, Tom and Eickenberg, Michael and Nunez-Elizalde, Anwar O. and Gallant, Jack L.},
  journal={NeuroImage}, volume={264}, pages={119728}, year={2022}, doi={10.1016/j.neuroimage.2022.119728}
}"""
