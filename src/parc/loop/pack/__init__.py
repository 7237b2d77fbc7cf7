"""A run as one small file, for another machine."""
