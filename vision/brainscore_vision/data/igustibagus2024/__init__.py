"""Register responses of macaque IT to objects in styles other than photographs: silhouettes, drawings, paintings.

3,138 images, 181 sites of the monkeys Pico and Oleo. Oleo saw an image up to 63 times, Pico up to 35 times: absent
repetitions are NaN. Images with equal ``background_id`` share a background; 0 is none.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@inproceedings{bagus2022primate,
  title={Primate inferotemporal cortex neurons generalize better to novel image distributions than analogous deep
    neural networks units},
  author={Bagus, Ayu Marliawaty I Gusti and Marques, Tiago and Sanghavi, Sachi and DiCarlo, James J and Schrimpf,
    Martin},
  booktitle={SVRHM 2022 Workshop at NeurIPS}, year={2022}
}"""

stimulus_set_registry["Igustibagus2024"] = BUCKET.stimuli(
    "Igustibagus2024",
    csv_sha1="df68b579e564eadee486212a0528dce0957828d9",
    zip_sha1="9aa13d94da49fb7535ef14115633fc58a4810a61",
)
data_registry["Igustibagus2024"] = BUCKET.assembly(
    "Igustibagus2024", sha1="eb180ddd1ae0144b5927fab00fd62ecd1aa98003", stimuli="Igustibagus2024"
)
