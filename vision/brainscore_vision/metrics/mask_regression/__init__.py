"""Predict responses from convolutional features by one mask over space and one weight for each channel."""

from brainscore_vision import metric_registry

from .metric import mask_cross_validated

metric_registry["mask_regression"] = mask_cross_validated

BIBTEX = """@inproceedings{klindt2017neural,
  title={Neural system identification for large populations separating "what" and "where"},
  author={Klindt, David and Ecker, Alexander S and Euler, Thomas and Bethge, Matthias},
  booktitle={Advances in Neural Information Processing Systems}, volume={30}, year={2017}, eprint={1711.02653},
  archivePrefix={arXiv}
}"""
