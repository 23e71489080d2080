"""Predict neural responses by linear regression from model features and correlate with the measured ones."""

from brainscore_vision import metric_registry

from .metric import (
    pls_cross_validated,
    pls_fixed_split,
    ridge_cross_validated,
    ridge_fixed_split,
)

metric_registry["pls_cv"] = pls_cross_validated
metric_registry["ridge_cv"] = ridge_cross_validated
metric_registry["pls_split"] = pls_fixed_split
metric_registry["ridge_split"] = ridge_fixed_split

metric_registry["pls"] = pls_cross_validated
metric_registry["ridge"] = ridge_cross_validated

BIBTEX = """@article{schrimpf2018brain,
  title={Brain-Score: Which Artificial Neural Network for Object Recognition is most Brain-Like?},
  author={Schrimpf, Martin and Kubilius, Jonas and Hong, Ha and Majaj, Najib J. and Rajalingham, Rishi and Issa, Elias
    B. and Kar, Kohitij and Bashivan, Pouya and Prescott-Roy, Jonathan and Schmidt, Kailyn and Yamins, Daniel L. K. and
    DiCarlo, James J.},
  journal={bioRxiv},
  year={2018},
  doi={10.1101/407007}
}"""
