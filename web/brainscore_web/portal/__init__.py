"""Take uploads of packaged data and plugins, check them in a box, publish them, and show how to register them."""
