"""Take uploads of packaged data and plugins, check them in a box, publish them, and say how to register them."""
