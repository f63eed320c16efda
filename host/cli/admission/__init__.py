"""Commands that act on the state of a host; no server has to run, and one that runs follows."""
