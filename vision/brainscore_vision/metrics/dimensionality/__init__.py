"""Estimate how much of a representation is about one factor of variation, such as shape."""

from brainscore_vision import metric_registry

from .metric import Dimensionality

metric_registry["factor_dimensionality"] = Dimensionality

BIBTEX = """@inproceedings{esser2020,
  title={A Disentangling Invertible Interpretation Network for Explaining Latent Representations},
  author={Esser, Patrick and Rombach, Robin and Ommer, Bj{\\"o}rn},
  booktitle={IEEE/CVF Conference on Computer Vision and Pattern Recognition}, pages={9223--9232}, year={2020},
  url={https://arxiv.org/abs/2004.13166}
}"""
