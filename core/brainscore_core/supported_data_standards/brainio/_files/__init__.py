"""Write stimulus sets, assemblies and their registrations to files and read them back."""
