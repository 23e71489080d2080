"""Find plugins without importing them, install their requirements, and import them."""
