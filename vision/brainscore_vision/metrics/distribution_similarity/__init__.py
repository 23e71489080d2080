"""Compare how a neuronal property is distributed over model units and over recorded neurons."""

from brainscore_vision import metric_registry

from .metric import BootstrapDistributionSimilarity, NeuronalPropertyCeiling, ks_similarity

__all__ = ["BIBTEX", "BootstrapDistributionSimilarity", "NeuronalPropertyCeiling", "ks_similarity"]

metric_registry["ks_similarity"] = BootstrapDistributionSimilarity
metric_registry["property_ceiling"] = NeuronalPropertyCeiling

BIBTEX = """@article{marques2021,
  title={Multi-scale hierarchical neural network models that bridge from single neurons in the primate primary visual
    cortex to object recognition behavior},
  author={Marques, Tiago and Schrimpf, Martin and DiCarlo, James J.},
  journal={bioRxiv}, year={2021}, doi={10.1101/2021.03.01.433495}
}"""
