"""The commands ``capgate rules``: one module a command."""
