"""Bodies that others bring: what a file beside theirs tells, joints of several hinges, ranges and motor speeds held."""
