"""Help to test plugins: synthetic data, shipped with the library for everybody who writes one."""
