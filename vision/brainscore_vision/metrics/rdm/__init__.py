"""Compare the dissimilarities of stimuli in a model with those in a brain."""

from brainscore_vision import metric_registry

from .metric import RDMCrossValidated, RDMMetric, RDMRhoA

metric_registry["rdm"] = RDMMetric
metric_registry["rdm_rho_a"] = RDMRhoA
metric_registry["rdm_cv"] = RDMCrossValidated

BIBTEX = """@article{kriegeskorte2008,
  title={Representational similarity analysis - connecting the branches of systems neuroscience},
  author={Kriegeskorte, Nikolaus and Mur, Marieke and Bandettini, Peter},
  journal={Frontiers in Systems Neuroscience}, volume={2}, year={2008}, doi={10.3389/neuro.06.004.2008}
}"""
