"""Compare the shapes of two representations after the rotation that brings them closest."""

from brainscore_vision import metric_registry

from .metric import Procrustes

metric_registry["procrustes"] = Procrustes

BIBTEX = """@inproceedings{williams2021,
  title={Generalized Shape Metrics on Neural Representations},
  author={Williams, Alex H. and Kunz, Erin and Kornblith, Simon and Linderman, Scott W.},
  booktitle={Advances in Neural Information Processing Systems}, volume={34}, year={2021},
  url={https://arxiv.org/abs/2110.14739}
}"""
