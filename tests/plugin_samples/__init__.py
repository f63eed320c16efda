"""Plugins made for a test: faulty objects, and an installed distribution."""
