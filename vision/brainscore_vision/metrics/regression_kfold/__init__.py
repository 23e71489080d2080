"""Predict responses by regression where stimuli or neurons are few or the measurement is noisy."""

from functools import partial

from brainscore_vision import metric_registry

from .metric import ExplainedR2ER, ExplainedSignal, FoldedCorrelation, folded

metric_registry["pls_kfold"] = partial(folded, FoldedCorrelation, "pls")
metric_registry["ridge_kfold"] = partial(folded, FoldedCorrelation, "ridge")
metric_registry["ridgecv_kfold"] = partial(folded, FoldedCorrelation, "ridgecv")

metric_registry["pls_signal"] = partial(folded, ExplainedSignal, "pls")
metric_registry["ridge_signal"] = partial(folded, ExplainedSignal, "ridge")
metric_registry["ridgecv_signal"] = partial(folded, ExplainedSignal, "ridgecv")

metric_registry["pls_r2er"] = partial(folded, ExplainedR2ER, "pls")
metric_registry["ridge_r2er"] = partial(folded, ExplainedR2ER, "ridge")
metric_registry["ridgecv_r2er"] = partial(folded, ExplainedR2ER, "ridgecv")

BIBTEX = """@inproceedings{sahani2003,
  title={How linear are auditory cortical responses?},
  author={Sahani, Maneesh and Linden, Jennifer F.},
  booktitle={Advances in Neural Information Processing Systems},
  volume={15},
  pages={125--132},
  year={2003}
}
@article{schoppe2016,
  title={Measuring the performance of neural models},
  author={Schoppe, Oliver and Harper, Nicol S. and Willmore, Ben D. B. and King, Andrew J. and Schnupp, Jan W. H.},
  journal={Frontiers in Computational Neuroscience},
  volume={10},
  pages={10},
  year={2016},
  doi={10.3389/fncom.2016.00010}
}
@article{pospisil2021,
  title={The unbiased estimation of the fraction of variance explained by a model},
  author={Pospisil, Dean A. and Bair, Wyeth},
  journal={PLOS Computational Biology},
  volume={17},
  number={8},
  pages={e1009212},
  year={2021},
  doi={10.1371/journal.pcbi.1009212}
}"""
