"""Compare geometries by distances that noise in the measurement does not bias."""

from brainscore_vision import metric_registry

from .metric import CrossnobisSimilarity

metric_registry["rsa_crossnobis"] = CrossnobisSimilarity

BIBTEX = """@article{walther2016,
  title={Reliability of dissimilarity measures for multi-voxel pattern analysis},
  author={Walther, Alexander and Nili, Hamed and Ejaz, Naveed and Alink, Arjen and Kriegeskorte, Nikolaus and
    Diedrichsen, J{\\"o}rn},
  journal={NeuroImage}, volume={137}, pages={188--200}, year={2016}, doi={10.1016/j.neuroimage.2015.12.012}
}"""
