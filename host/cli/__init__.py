"""The command ``capgate``: one module a command."""
