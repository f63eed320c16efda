"""Measures the gate beside hand-written code and beside policy engines: ``make bench``."""
