"""parc: physics-simulated characters that cross difficult ground (PARC, SIGGRAPH 2025)."""

__version__ = "0.3.0"
