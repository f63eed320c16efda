"""The built-in primitives, one module each; every module is a plugin through the same hooks as any other."""
