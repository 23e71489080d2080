"""Predict neural responses by regression from model features and correlate with the measured ones."""

from brainscore_vision import metric_registry

from . import factories

metric_registry["pls"] = factories.pls_cross_validated
metric_registry["ridge"] = factories.ridge_cross_validated
metric_registry["ridgecv"] = factories.ridge_cv_cross_validated
metric_registry["linear_predictivity"] = factories.linear_cross_validated
metric_registry["neuron_to_neuron"] = factories.single_cross_validated
metric_registry["reverse_pls"] = factories.reverse_pls_cross_validated

# The same metrics under names that state how the stimuli are split.
metric_registry["pls_cv"] = factories.pls_cross_validated
metric_registry["ridge_cv"] = factories.ridge_cross_validated
metric_registry["linear_predictivity_cv"] = factories.linear_cross_validated
metric_registry["neuron_to_neuron_cv"] = factories.single_cross_validated
metric_registry["reverse_pls_cv"] = factories.reverse_pls_cross_validated

metric_registry["pls_split"] = factories.pls_fixed_split
metric_registry["ridge_split"] = factories.ridge_fixed_split
metric_registry["ridgecv_split"] = factories.ridge_cv_fixed_split
metric_registry["dual_ridge_split"] = factories.dual_ridge_fixed_split
metric_registry["dual_ridgecv_split"] = factories.dual_ridge_cv_fixed_split
metric_registry["linear_predictivity_split"] = factories.linear_fixed_split
metric_registry["neuron_to_neuron_split"] = factories.single_fixed_split
metric_registry["reverse_pls_split"] = factories.reverse_pls_fixed_split

metric_registry["spantime_pls"] = factories.pls_span_time
metric_registry["spantime_ridge"] = factories.ridge_span_time
metric_registry["pls_pertime"] = factories.pls_per_time
metric_registry["ridge_pertime"] = factories.ridge_per_time

BIBTEX = """@article{schrimpf2018brain,
  title={Brain-Score: Which Artificial Neural Network for Object Recognition is most Brain-Like?},
  author={Schrimpf, Martin and Kubilius, Jonas and Hong, Ha and Majaj, Najib J. and Rajalingham, Rishi and Issa, Elias
    B. and Kar, Kohitij and Bashivan, Pouya and Prescott-Roy, Jonathan and Schmidt, Kailyn and Yamins, Daniel L. K.
    and DiCarlo, James J.},
  journal={bioRxiv}, year={2018}, doi={10.1101/407007}
}"""

BIBTEX_PLS = """@article{yamins2014performance,
  title={Performance-optimized hierarchical models predict neural responses in higher visual cortex},
  author={Yamins, Daniel L. K. and Hong, Ha and Cadieu, Charles F. and Solomon, Ethan A. and Seibert, Darren and
    DiCarlo, James J.},
  journal={Proceedings of the National Academy of Sciences}, volume={111}, number={23}, pages={8619--8624}, year={2014},
  doi={10.1073/pnas.1403112111}
}"""

BIBTEX_NEURONTONEURON = """@techreport{arend2018single,
  title={Single units in a deep neural network functionally correspond with neurons in the brain: preliminary results},
  author={Arend, Luke and Han, Yena and Schrimpf, Martin and Bashivan, Pouya and Kar, Kohitij and Poggio, Tomaso and
    DiCarlo, James J. and Boix, Xavier},
  institution={Center for Brains, Minds and Machines (CBMM)},
  year={2018}
}"""

BIBTEX_REVERSE_PLS = """@article{muzellec2025reverse,
  title={Reverse Predictivity: Going Beyond One-Way Mapping to Compare Artificial Neural Network Models and Brains},
  author={Muzellec, Sabine and Kar, Kohitij},
  journal={bioRxiv}, year={2025}
}"""
