"""From generated motions to good clips: choose among candidates, correct kinematically, synthesise data sets."""
