"""What ``capgate new`` writes: files to begin with, and how they get onto the disk."""
