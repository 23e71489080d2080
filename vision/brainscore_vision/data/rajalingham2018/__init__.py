"""Register choices of people between the object in an image and a distractor (Rajalingham et al. 2018).

Single trials, dims (presentation): ``choice``, ``sample_obj`` (the object shown) and ``dist_obj`` (the distractor) are
names of objects. The private images are the 240 of the paper; 2,160 others are public.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)

BIBTEX = """@article{rajalingham2018large,
  title={Large-scale, high-resolution comparison of the core visual object recognition behavior of humans, monkeys,
    and state-of-the-art deep artificial neural networks},
  author={Rajalingham, Rishi and Issa, Elias B and Bashivan, Pouya and Kar, Kohitij and Schmidt, Kailyn and DiCarlo,
    James J},
  journal={Journal of Neuroscience}, volume={38}, number={33}, pages={7255--7269}, year={2018},
  doi={10.1523/JNEUROSCI.0388-18.2018}
}"""


data_registry["Rajalingham2018.public"] = BUCKET.assembly(
    "dicarlo.Rajalingham2018.public", sha1="34c6a8b6f7c523589c1861e4123232e5f7c7df4c", stimuli="objectome.public"
)

data_registry["Rajalingham2018.private"] = BUCKET.assembly(
    "dicarlo.Rajalingham2018.private", sha1="516f13793d1c5b72bb445bb4008448ce97a02d23", stimuli="objectome.private"
)

stimulus_set_registry["objectome.public"] = BUCKET.stimuli(
    "objectome.public",
    csv_sha1="47884e17106a3be471d6481279cab33889b80850",
    zip_sha1="064f2955f98e63867755fee2e3ead8cddf6bfab8",
)

stimulus_set_registry["objectome.private"] = BUCKET.stimuli(
    "objectome.private",
    csv_sha1="ac38e8f7c08fa8294ed25a3bf84a6adb108bf3fc",
    zip_sha1="ccd39f7f9b8b4a92da06e3960d06225e46208593",
)
