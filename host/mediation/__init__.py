"""The only code that touches the world: files, sockets, clocks and child processes."""
