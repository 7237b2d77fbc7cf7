"""The studio's controls: the panels around the scene, and safe text for the page."""
