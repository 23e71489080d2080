import os
import site
import socket
import sys
import time
from pathlib import Path

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import model_registry
from brainscore_vision.model_interface import BrainModel


class Hostile(BrainModel):
    identifier = "hostile"

    def visual_degrees(self):
        return 8

    def start_recording(self, recording_target, time_bins):
        # Such as 'search:/folder': the test passes the attack and its target as the name of the region.
        self.attack, _, self.target = recording_target.partition(":")

    def look_at(self, stimuli, number_of_trials=1):
        return getattr(self, self.attack)(stimuli)

    def answer(self, stimuli, value=0.0, ids=None):
        ids = stimuli["stimulus_id"].tolist() if ids is None else ids
        columns = {name: ("presentation", stimuli[name].to_numpy()) for name in stimuli if name != "stimulus_id"}
        return NeuroidAssembly(
            np.full((len(ids), 1), float(value)),
            coords={"stimulus_id": ("presentation", ids), **columns, "neuroid_id": ("neuroid", ["n"])},
            dims=["presentation", "neuroid"],
        )

    # -- honest and malformed answers

    def honest(self, stimuli):
        return self.answer(stimuli, sum(Path(path).stat().st_size for path in stimuli.stimulus_paths.values()))

    def others(self, stimuli):
        return self.answer(stimuli, ids=[f"other{number}" for number in range(len(stimuli))])

    def permuted(self, stimuli):
        return self.answer(stimuli, ids=stimuli["stimulus_id"].tolist()[::-1])

    def fewer(self, stimuli):
        return self.answer(stimuli[:1])

    def twice(self, stimuli):
        return self.answer(type(stimuli)(stimuli.loc[stimuli.index.repeat(2)]))

    def labels(self, stimuli):
        answer = self.answer(stimuli)
        return answer.copy(data=np.full(answer.shape, "text"))

    def another_truth(self, stimuli):
        answer = self.answer(stimuli)
        answer["object_name"] = "presentation", ["forged"] * len(stimuli)
        return answer

    def nothing(self, stimuli):
        return None

    def raises(self, stimuli):
        class AKIASECRET(Exception):  # noqa: N818 - a name with a secret in it
            pass

        raise AKIASECRET("x" * 10**6)

    # -- attacks on things that others rely on

    def changes_libraries(self, stimuli):
        time.time = time.monotonic = lambda: 0.0
        np.corrcoef = np.mean = lambda *args, **more: 1.0
        sys.modules["PIL"] = None
        return self.answer(stimuli, 3.0)

    def counts_files(self, stimuli):
        """Return how many files there are around the stimuli, from two folders above theirs."""
        folder = Path(next(iter(stimuli.stimulus_paths.values()))).parent
        return self.answer(stimuli, sum(len(files) for _, _, files in os.walk(folder.parent.parent)))

    def changes_stimuli(self, stimuli):
        return self.answer(stimuli, sum(map(_can_write, stimuli.stimulus_paths.values())))

    def writes(self, stimuli):
        """Return how many of the places that a plugin knows are writable."""
        places = [*sys.path, *site.getsitepackages(), str(Path(__file__).parent), *self.target.split(os.pathsep)]
        return self.answer(stimuli, sum(_can_write(Path(place) / "harm.pth") for place in places if place))

    def finds_plugins(self, stimuli):
        """Return how many files of plugins it finds, its own included."""
        starts = {"/", *(path for path in sys.path if path.startswith("/usr/"))}
        kinds = self.target.split(",")
        found = {
            f"{folder}/{name}"
            for start in starts
            for folder, folders, files in os.walk(start)
            if not folders.__setitem__(slice(None), [each for each in folders if each not in ("proc", "sys", "usr")])
            for name in files
            if any(f"/brainscore_vision/{kind}/" in folder for kind in kinds)
        }
        return self.answer(stimuli, len(found))

    def connects(self, stimuli):
        host, _, port = self.target.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=2).close()
        except OSError:
            return self.answer(stimuli, 0)
        return self.answer(stimuli, 1)

    def reads_environments(self, stimuli):
        """Return how many processes have the target text in their environment."""
        found = 0
        for each in Path("/proc").glob("[0-9]*/environ"):
            try:
                found += self.target.encode() in each.read_bytes()
            except OSError:
                continue
        return self.answer(stimuli, found)

    def draws(self, stimuli):
        """Return different numbers on each call."""
        answer = self.answer(stimuli)
        return answer.copy(data=np.random.default_rng().random(answer.shape))

    # -- attacks on the connection

    def exits(self, stimuli):
        os.write(1, b"leaving")
        os._exit(0)

    def forges(self, stimuli):
        """Try to write a forged record, then exit as if nothing were wrong."""
        place, _, record = self.target.partition("|")
        try:
            Path(place).parent.mkdir(parents=True, exist_ok=True)
            Path(place).write_text(record)
        finally:
            os._exit(0)

    def takes_memory(self, stimuli):
        kept = bytearray(b"1") * 2**31
        time.sleep(600)
        return self.answer(stimuli, len(kept))

    def is_silent(self, stimuli):
        time.sleep(3600)

    def closes(self, stimuli):
        os.close(_socket_number())
        time.sleep(3600)

    def writes_garbage(self, stimuli):
        os.write(_socket_number(), b"\0" * 2**20)
        time.sleep(3600)


def _can_write(path):
    try:
        with Path(path).open("ab") as stream:
            stream.write(b"harm")
    except OSError:
        return False
    return True


def _socket_number():
    for link in list(Path("/proc/self/fd").iterdir()):
        try:
            if "socket" in str(link.readlink()):
                return int(link.name)
        except OSError:  # the descriptor of the listing itself
            continue
    raise AssertionError("no socket is open")


model_registry["hostile"] = Hostile
