"""The paper's tables and more, on a fixed test set."""
