"""Speed, measured: each file has one function that returns a dict of plain numbers."""
