"""Estimate from repetitions, in closed form, how much of a measurement is signal."""

from brainscore_vision import metric_registry

from .ceiling import NoiseCeiling

metric_registry["noise_ceiling"] = NoiseCeiling

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
@article{allen2022,
  title={A massive 7T fMRI dataset to bridge cognitive neuroscience and artificial intelligence},
  author={Allen, Emily J. and St-Yves, Ghislain and Wu, Yihan and others},
  journal={Nature Neuroscience},
  volume={25},
  pages={116--126},
  year={2022},
  doi={10.1038/s41593-021-00962-x}
}"""
