"""Compare when a model's responses suffice to recognise the object in an image with when those of IT do."""

from brainscore_vision import metric_registry
from brainscore_vision.data_helpers import cite_data

from .metric import OSTCorrelation

metric_registry["ost"] = OSTCorrelation

BIBTEX = """@inproceedings{kubilius2019brain,
  title={Brain-Like Object Recognition with High-Performing Shallow Recurrent ANNs},
  author={Kubilius, Jonas and Schrimpf, Martin and Kar, Kohitij and Rajalingham, Rishi and Hong, Ha and Majaj, Najib
    J. and Issa, Elias B. and Bashivan, Pouya and Prescott-Roy, Jonathan and Schmidt, Kailyn and Nayebi, Aran and
    Bear, Daniel and Yamins, Daniel L. K. and DiCarlo, James J.},
  booktitle={Advances in Neural Information Processing Systems}, volume={32}, year={2019}
}"""

BIBTEX_CHARACTERIZATION = cite_data("kar2019")
