"""A plugin for capgate: reading the clipboard."""
