"""Compare representations by centered kernel alignment."""

from brainscore_vision import metric_registry

from .metric import CKA, CKACrossValidated, biased_cka

metric_registry["cka"] = CKA
metric_registry["cka_cv"] = CKACrossValidated
metric_registry["cka_biased"] = biased_cka

BIBTEX = """@inproceedings{kornblith2019,
  title={Similarity of Neural Network Representations Revisited},
  author={Kornblith, Simon and Norouzi, Mohammad and Lee, Honglak and Hinton, Geoffrey},
  booktitle={Proceedings of the 36th International Conference on Machine Learning}, pages={3519--3529}, year={2019},
  url={https://arxiv.org/abs/1905.00414}
}"""
