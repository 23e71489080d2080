"""Find plugins without importing them, install what they require, and import them."""
