"""Register the benchmarks of Malania, Herzog and Westheimer (2007): nine kinds of flankers, and none."""

from brainscore_vision import benchmark_registry

from .benchmark import Malania2007ThresholdElevation as ThresholdElevation
from .benchmark import Malania2007VernierAcuity

benchmark_registry["Malania2007.short2-threshold_elevation"] = lambda: ThresholdElevation("short2")
benchmark_registry["Malania2007.short4-threshold_elevation"] = lambda: ThresholdElevation("short4")
benchmark_registry["Malania2007.short6-threshold_elevation"] = lambda: ThresholdElevation("short6")
benchmark_registry["Malania2007.short8-threshold_elevation"] = lambda: ThresholdElevation("short8")
benchmark_registry["Malania2007.short16-threshold_elevation"] = lambda: ThresholdElevation("short16")
benchmark_registry["Malania2007.equal2-threshold_elevation"] = lambda: ThresholdElevation("equal2")
benchmark_registry["Malania2007.long2-threshold_elevation"] = lambda: ThresholdElevation("long2")
benchmark_registry["Malania2007.equal16-threshold_elevation"] = lambda: ThresholdElevation("equal16")
benchmark_registry["Malania2007.long16-threshold_elevation"] = lambda: ThresholdElevation("long16")
benchmark_registry["Malania2007.vernieracuity-threshold"] = Malania2007VernierAcuity
