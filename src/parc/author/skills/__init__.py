"""The skills that are written as scripts of contacts: climbing up and down, vaulting, jumping."""
