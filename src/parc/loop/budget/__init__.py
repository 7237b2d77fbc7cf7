"""How long trainings last: a preset cut to minutes, and what is left of them shared out while the run goes on."""
