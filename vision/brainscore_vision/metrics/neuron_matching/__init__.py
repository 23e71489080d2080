"""Match single neuroids of a model with those of a recording, and correlate them on other stimuli."""

from brainscore_vision import metric_registry

from .metric import SoftMatching, one_to_one

metric_registry["one_to_one"] = one_to_one
metric_registry["soft_matching"] = SoftMatching

BIBTEX = """@inproceedings{khosla2024soft,
  title={Soft Matching Distance: A metric on neural representations that captures single-neuron tuning},
  author={Khosla, Meenakshi and Williams, Alex H},
  booktitle={Proceedings of UniReps: the First Workshop on Unifying Representations in Neural Models},
  series={Proceedings of Machine Learning Research}, volume={243}, pages={326--341}, year={2024},
  url={https://arxiv.org/abs/2311.09466}
}"""

BIBTEX_ONE_TO_ONE = """@inproceedings{li2016convergent,
  title={Convergent Learning: Do different neural networks learn the same representations?},
  author={Li, Yixuan and Yosinski, Jason and Clune, Jeff and Lipson, Hod and Hopcroft, John},
  booktitle={International Conference on Learning Representations}, year={2016}, url={https://arxiv.org/abs/1511.07543}
}"""
