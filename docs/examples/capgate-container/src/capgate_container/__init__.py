"""A plugin for capgate: extensions in containers."""
