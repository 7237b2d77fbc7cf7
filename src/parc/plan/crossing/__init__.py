"""Crossings by reflex: how far bodies have come and what became of them, their recording, crowds, and getting up from a fall."""
