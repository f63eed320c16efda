"""The refusal rules that capgate ships: data, not code.

`ruleset.yaml` says in which order they are asked; every other YAML file is one rule, named by its id.
"""
