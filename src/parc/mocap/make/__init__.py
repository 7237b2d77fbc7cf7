"""From a list of takes to a data set: make each clip, judge it, write down what became of it."""
