"""Which workers may take a batch."""

import pytest

from brainscore_core.scoring.batches import Batch
from brainscore_core.scoring.cluster.places import missing, offer, wanted


@pytest.mark.parametrize(
    ("options", "offers", "wants"),
    [
        ({"memory_gb": 3.0}, [offer(8.0)], {"memory_gb": 3.0}),
        ({"memory_gb": 3.0}, [{}], {}),
        ({"memory_gb": 3.0}, [offer(8.0), {}], {}),  # one of them does not state its memory
        ({"private": True}, [{}], {"private": 1.0}),
        ({"gpus": 2}, [{}], {"gpu": 2.0}),
        ({"gpus": 0}, [offer(8.0, gpus=4)], {"memory_gb": 0.1}),
    ],
)
def test_wanted_resources_of_a_batch(pair, options, offers, wants):
    assert wanted(Batch((pair("m", "b", **options),)), offers) == wants


@pytest.mark.parametrize(
    ("options", "offers", "said"),
    [
        ({"memory_gb": 8.0}, [offer(8.0)], ""),
        ({"memory_gb": 8.0}, [offer(4.0), offer(8.0)], ""),
        ({"memory_gb": 9.0}, [offer(4.0), offer(8.0)], "needs a worker with 9 GB of memory; .* at most 8 GB of memory"),
        ({"private": True}, [offer(8.0, private=True)], ""),
        ({"private": True}, [offer(8.0)], "a licence for private data; .* at most 8 GB of memory"),
        ({"private": True}, [{}], 'none of these. Start workers with --resources "private=1"'),
        ({"gpus": 1}, [offer(8.0, gpus=1)], ""),
        ({"gpus": 1}, [offer(8.0), {}], "1 GPU; .* none of these"),
        ({"gpus": 2}, [offer(8.0, gpus=1)], "2 GPU; .* 1 GPU"),
        # some worker has each of them, but none has both
        ({"gpus": 1, "private": True}, [offer(8.0, gpus=1), offer(8.0, private=True)], "1 GPU and a licence"),
    ],
)
def test_missing_resources_are_explained(pair, options, offers, said):
    import re

    why = missing(Batch((pair("m", "b", **options),)), offers)
    assert bool(why) == bool(said)
    assert re.search(said, why)
