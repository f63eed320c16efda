"""A plugin for capgate: tools of servers that speak the Model Context Protocol."""
