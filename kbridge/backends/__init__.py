"""The built-in backends, and the kit that they and third parties are written with."""
