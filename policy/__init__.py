"""The decision: rules over facts. Pure; it imports neither plugins nor the host."""
