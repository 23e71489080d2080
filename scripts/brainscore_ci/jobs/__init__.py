"""Run the jobs of a plan and pass on their results."""
