"""The built-in placements, one module each; every module is a plugin through the same hooks as any other."""
