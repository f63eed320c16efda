"""The tools as a server of the Model Context Protocol; no other part of the host imports it."""
