"""The thin HTTP shim: it parses a request, calls the host, and renders the answer."""
