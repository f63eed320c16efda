"""Descriptors to try, to copy and to sideload: data, not code.

Each JSON file is one extension, named by its id. All would be admitted, but for `mcp-server-local`, which shows
a refusal.
"""
