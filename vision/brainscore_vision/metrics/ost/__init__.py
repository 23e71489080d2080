"""Compare when a model's responses suffice to recognise the object in an image with when those of IT do."""

from brainscore_vision import metric_registry

from .metric import OSTCorrelation

metric_registry["ost"] = OSTCorrelation

BIBTEX = """@inproceedings{kubilius2019brain,
  title={Brain-Like Object Recognition with High-Performing Shallow Recurrent ANNs},
  author={Kubilius, Jonas and Schrimpf, Martin and Kar, Kohitij and Rajalingham, Rishi and Hong, Ha and Majaj, Najib J.
    and Issa, Elias B. and Bashivan, Pouya and Prescott-Roy, Jonathan and Schmidt, Kailyn and Nayebi, Aran and
    Bear, Daniel and Yamins, Daniel L. K. and DiCarlo, James J.},
  booktitle={Advances in Neural Information Processing Systems},
  volume={32},
  year={2019}
}"""

BIBTEX_CHARACTERIZATION = """@article{kar2019evidence,
  title={Evidence that recurrent circuits are critical to the ventral stream's execution of core object recognition
    behavior},
  author={Kar, Kohitij and Kubilius, Jonas and Schmidt, Kailyn and Issa, Elias B. and DiCarlo, James J.},
  journal={Nature Neuroscience},
  volume={22},
  number={6},
  pages={974--983},
  year={2019},
  doi={10.1038/s41593-019-0392-5}
}"""
