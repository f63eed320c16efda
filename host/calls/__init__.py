"""Calling tools: what was admitted is looked up, handed its interfaces, run, counted and audited."""
