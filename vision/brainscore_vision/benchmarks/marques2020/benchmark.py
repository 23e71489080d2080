"""Compare the diversity of single units of a model and neurons of V1, in 22 properties of 6 experiments.

Each property is one number per unit; the score is the similarity of its distributions over units and over neurons
(``ks_similarity``), divided by the highest for so few neurons (``property_ceiling``).
"""

from collections.abc import Callable
from typing import NamedTuple

from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
from brainscore_vision import load_ceiling, load_dataset, load_metric
from brainscore_vision.benchmark_helpers.properties_common import PropertiesBenchmark
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.utils import LazyLoad

from . import properties

CAVANAUGH = """@article{cavanaugh2002nature,
  title={Nature and interaction of signals from the receptive field center and surround in macaque {V1} neurons},
  author={Cavanaugh, James R and Bair, Wyeth and Movshon, J Anthony},
  journal={Journal of Neurophysiology},
  volume={88}, number={5}, pages={2530--2546}, year={2002}, doi={10.1152/jn.00692.2001}
}"""
DEVALOIS_ORIENTATION = """@article{devalois1982orientation,
  title={The orientation and direction selectivity of cells in macaque visual cortex},
  author={De Valois, Russell L and Yund, E William and Hepler, Norva},
  journal={Vision Research}, volume={22}, number={5}, pages={531--544}, year={1982}, doi={10.1016/0042-6989(82)90112-2}
}"""
DEVALOIS_FREQUENCY = """@article{devalois1982frequency,
  title={Spatial frequency selectivity of cells in macaque visual cortex},
  author={De Valois, Russell L and Albrecht, Duane G and Thorell, Lisa G},
  journal={Vision Research}, volume={22}, number={5}, pages={545--559}, year={1982}, doi={10.1016/0042-6989(82)90113-4}
}"""
FREEMAN = cite_data("freemanziemba2013")
RINGACH = """@article{ringach2002orientation,
  title={Orientation selectivity in macaque {V1}: diversity and laminar dependence},
  author={Ringach, Dario L and Shapley, Robert M and Hawken, Michael J},
  journal={Journal of Neuroscience},
  volume={22}, number={13}, pages={5639--5651}, year={2002}, doi={10.1523/JNEUROSCI.22-13-05639.2002}
}"""
SCHILLER = """@article{schiller1976quantitative,
  title={Quantitative studies of single-cell properties in monkey striate cortex. {III}. {S}patial frequency},
  author={Schiller, Peter H and Finlay, Barbara L and Volman, Susan F},
  journal={Journal of Neurophysiology},
  volume={39}, number={6}, pages={1334--1351}, year={1976}, doi={10.1152/jn.1976.39.6.1334}
}"""

TIMEBINS = [(70, 170)]


class Experiment(NamedTuple):
    """Recordings, the computation of properties from responses, and the publication."""

    dataset: str
    measure: Callable[..., PropertyAssembly]
    bibtex: str


SIZE = Experiment("Cavanaugh2002a", properties.size_tuning, CAVANAUGH)
PREFERENCE = Experiment("DeValois1982a", properties.preferred_orientation, DEVALOIS_ORIENTATION)
FREQUENCY = Experiment("DeValois1982b", properties.peak_frequency, DEVALOIS_FREQUENCY)
TEXTURE = Experiment("FreemanZiemba2013_V1_properties", properties.texture_tuning, FREEMAN)
ORIENTATION = Experiment("Ringach2002", properties.orientation_tuning, RINGACH)
SELECTIVITY = Experiment("Schiller1976c", properties.frequency_selectivity, SCHILLER)


def marques2020(
    name: str, experiment: Experiment, property_name: str, parent: str, *, published: bool = False
) -> PropertiesBenchmark:
    """Make a benchmark; `name` and `parent` lack the prefix of identifier and group.

    With `published`, the ceiling is the published one (see `property_ceiling`), and textures are not rectified (see
    `properties.texture_tuning`).
    """
    metric = load_metric("ks_similarity", property_name=property_name)
    measure = experiment.measure
    if published and measure is properties.texture_tuning:
        measure = properties.published_texture_tuning
    return PropertiesBenchmark(
        identifier=f"Marques2020_{name}",
        version=1,
        assembly=LazyLoad(lambda: load_dataset(experiment.dataset)),
        neuronal_property=measure,
        similarity_metric=metric,
        timebins=TIMEBINS,
        ceiling_func=load_ceiling("property_ceiling", metric, compat=published),
        parent=f"V1-{parent}",
        bibtex=experiment.bibtex,
    )
