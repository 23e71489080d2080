"""Register displays of visual search and people's answers, 14 experiments (Ferguson et al., 2024)."""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@misc{ferguson2024,
  title={How Well is Visual Search Asymmetry predicted by a Binary-Choice, Rapid, Accuracy-based Visual-search,
    Oddball-detection (BRAVO) task?},
  author={Ferguson, Michael E, Jr and Ngo, Jerry and Lee, Michael and DiCarlo, James and Schrimpf, Martin},
  publisher={OSF}, year={2024}, doi={10.17605/OSF.IO/5BA3N}, url={https://osf.io/5ba3n}
}"""
BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)

STIMULI = (  # experiment, digests of table and archive
    ("circle_line", "fc59d23ccfb41b4f98cf02865fc335439d2ad222", "1f0065910b01a1a0e12611fe61252eafb9c534c3"),
    ("color", "bc351933e1f21eee9704985c1b8231be6955d816", "6ad04c58de8cc8c28b309572cc41c86470f0c322"),
    ("convergence", "bc351933e1f21eee9704985c1b8231be6955d816", "d65bdf6654e08c9107a20028281ab5e38a0be981"),
    ("eighth", "bc351933e1f21eee9704985c1b8231be6955d816", "6ee1931b316fd4ccf6eeb16788aa42bb7a36aa41"),
    ("gray_easy", "bc351933e1f21eee9704985c1b8231be6955d816", "da76bdebf46fe0eb853ea1b877274b1f26f56dfc"),
    ("gray_hard", "bc351933e1f21eee9704985c1b8231be6955d816", "93f02c051f4d89fe059345c0af7ba6fc83b65b35"),
    ("half", "bc351933e1f21eee9704985c1b8231be6955d816", "6461a1d19e031943d42e97e8b557a97d14b18c55"),
    ("juncture", "bc351933e1f21eee9704985c1b8231be6955d816", "832102f1eaa713fdfd03c512df2b8feea422c61d"),
    ("lle", "bc351933e1f21eee9704985c1b8231be6955d816", "27817e955da9e4747d2aeb8757b7f6492bc7767e"),
    ("llh", "bc351933e1f21eee9704985c1b8231be6955d816", "56cdf86ecd0b52349b29b2ab0be89daeed9b0eb6"),
    ("quarter", "bc351933e1f21eee9704985c1b8231be6955d816", "c16c5ecf1f38af0d02255a78a6c438074ec8d446"),
    ("round_f", "bc351933e1f21eee9704985c1b8231be6955d816", "7f456e390cb93805187266d05756beb9cf225e1d"),
    ("round_v", "bc351933e1f21eee9704985c1b8231be6955d816", "cebb84d2363c1539368e3e1b1bfd83305ad9ae13"),
    ("tilted_line", "bc351933e1f21eee9704985c1b8231be6955d816", "bb3d7bcb60ba586c8552266839187a59c2b3138f"),
)
TRAINING = (  # experiment, digest of the archive; all have the same table
    ("circle_line", "ba9088601d8c79ea5ff3d513e1a76b1232491918"),
    ("color", "dcd5044c73e7523afc94f91543adb444a437f911"),
    ("convergence", "00eb401ddfc075a4bb448ec36b8a1c8f3ec1d6e4"),
    ("eighth", "26edaec1d0dd14343a117340283e091a2245f3aa"),
    ("gray_easy", "18211af83c680d5c916ec15b57b5b871494d6b28"),
    ("gray_hard", "a54d84dbb548706bbfeb239113a1d92205dc3f67"),
    ("half", "0db665619307d5c532a3ccd4311611e5a3830a10"),
    ("juncture", "eb99fd862bec5e61900d037b6b38abf2a278c9f0"),
    ("lle", "a1d19d0b77f0eb17ae886a1b7ccc649c5e51d84e"),
    ("llh", "1550f9f71e6930caa15b96aaf811aa97d48d7267"),
    ("quarter", "22669e4a94718b3cbde3f5b2a493044bc091257e"),
    ("round_f", "e33855c899f78a115cf377a228e07d87baa554b7"),
    ("round_v", "b1555f8a140a12e01a87a2f4e452d5863be43a5b"),
    ("tilted_line", "e92533d8aded07ed90ef25650d0cf07c3a458be7"),
)
TRAINING_TABLE = "098eb5999e9c4b723abc35ade862d2dc45899230"
ASSEMBLIES = (  # experiment, digest
    ("circle_line", "586da7b1c7cb5a60fe72bc148513e3159a27b134"),
    ("color", "5b5d67fa3189db9984006910d1954586e6a5a9f3"),
    ("convergence", "5165c4b0da30826b89c2c242826bb79a4417b9a5"),
    ("eighth", "984f9498c42b14cfae6c7272a8707df96fea7ee2"),
    ("gray_easy", "7b09c2f1e8199e680167cfeb124c28dc68c804ab"),
    ("gray_hard", "2fa35d41e73053ece6d1f0120ca4dc9bc4a9d4ae"),
    ("half", "b65e14c5d62fee715438a613e55fffa5e6f76c40"),
    ("juncture", "b18148383ef2158aa795b3cff8a8e237e08b5070"),
    ("lle", "08e98305657cd374d9ea103df0fe06783a70344a"),
    ("llh", "864d49c00e777f3d464c6c0c59fee087c1de9037"),
    ("quarter", "921b3b51208cdd5f163eca288ea83be47a2b482f"),
    ("round_f", "acb19ac865b45199a58609db31d3e885ff272fd4"),
    ("round_v", "ce0361c4386dc7b8866d78023044b3009c84aa4b"),
    ("tilted_line", "1806034da0c25e8625255eb94dc0a05c7e9cda1f"),
)

for experiment, csv_sha1, zip_sha1 in STIMULI:
    stimulus_set_registry[f"Ferguson2024_{experiment}"] = BUCKET.stimuli(
        f"Ferguson2024_{experiment}", csv_sha1=csv_sha1, zip_sha1=zip_sha1
    )
for experiment, zip_sha1 in TRAINING:
    stimulus_set_registry[f"Ferguson2024_{experiment}_training_stimuli"] = BUCKET.stimuli(
        f"Ferguson2024_{experiment}_training_stimuli", csv_sha1=TRAINING_TABLE, zip_sha1=zip_sha1
    )
for experiment, sha1 in ASSEMBLIES:
    data_registry[f"Ferguson2024_{experiment}"] = BUCKET.assembly(
        f"Ferguson2024_{experiment}", sha1=sha1, stimuli=f"Ferguson2024_{experiment}"
    )
