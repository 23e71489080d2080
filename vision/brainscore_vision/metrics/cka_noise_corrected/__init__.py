"""Compare representations by centered kernel alignment that noise in the measurement does not lower."""

from brainscore_vision import metric_registry

from .metric import NoiseCorrectedCKA

metric_registry["cka_noise_corrected"] = NoiseCorrectedCKA

BIBTEX = """@article{song2012,
  title={Feature Selection via Dependence Maximization},
  author={Song, Le and Smola, Alex and Gretton, Arthur and Bedo, Justin and Borgwardt, Karsten},
  journal={Journal of Machine Learning Research}, volume={13}, pages={1393--1434}, year={2012},
  url={https://jmlr.org/papers/v13/song12a.html}
}"""
