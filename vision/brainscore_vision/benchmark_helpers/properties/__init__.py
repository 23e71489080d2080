"""The design of benchmarks on distributions of single-neuron properties."""
