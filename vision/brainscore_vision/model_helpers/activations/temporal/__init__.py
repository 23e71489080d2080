"""Read out models of video: stimuli (`inputs`), clips and time bins (`inferencers`), PyTorch modules (`model`)."""
