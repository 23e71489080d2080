"""Write assemblies, stimulus sets and the code that registers them to files, and read data back."""
