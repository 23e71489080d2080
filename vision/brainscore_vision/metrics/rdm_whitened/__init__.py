"""Compare distances between stimuli, weighted by how well pairs of stimuli are measured together."""

from brainscore_vision import metric_registry

from .metric import WhitenedRDM

metric_registry["rdm_whitened"] = WhitenedRDM

BIBTEX = """@article{diedrichsen2021,
  title={Comparing Representational Geometries Using Whitened Unbiased-Distance-Matrix Similarity},
  author={Diedrichsen, J{\\"o}rn and Berlot, Eva and Mur, Marieke and Sch{\\"u}tt, Heiko H. and Shahbazi, Mahdiyar and
    Kriegeskorte, Nikolaus},
  journal={Neurons, Behavior, Data Analysis, and Theory}, volume={5}, number={3}, year={2021}, doi={10.51628/001c.27664}
}"""
