"""Hold metrics and ceilings of which several plugins make theirs."""
