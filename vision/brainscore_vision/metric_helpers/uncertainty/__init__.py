"""Say how certain a score is: standard errors, resampling, intervals, and the seeds of every draw."""
