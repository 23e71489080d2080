"""Hold one plugin folder for each model or family of models."""
