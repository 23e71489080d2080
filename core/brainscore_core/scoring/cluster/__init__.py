"""Score on many machines: dask.distributed on this machine, at an address, over SSH, or as jobs of Slurm."""

from brainscore_core.scoring.cluster.places import parse_place
from brainscore_core.scoring.cluster.running import Ledger, Piece, run_on_cluster

__all__ = ["Ledger", "Piece", "parse_place", "run_on_cluster"]
