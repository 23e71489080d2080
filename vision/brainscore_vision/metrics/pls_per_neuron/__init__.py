"""Predict responses by partial least squares with a number of components for each neuroid."""

from brainscore_vision import metric_registry

from .metric import pls_per_neuron

metric_registry["pls_per_neuron"] = pls_per_neuron

BIBTEX = """@article{wold2001pls,
  title={PLS-regression: a basic tool of chemometrics},
  author={Wold, Svante and Sj{\\"o}str{\\"o}m, Michael and Eriksson, Lennart},
  journal={Chemometrics and Intelligent Laboratory Systems}, volume={58}, number={2}, pages={109--130}, year={2001},
  doi={10.1016/S0169-7439(01)00155-1}
}"""
