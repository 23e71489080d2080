"""Compare choices: agreement between judges, patterns over objects, psychometric curves."""
