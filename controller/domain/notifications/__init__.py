"""Events of releases that people are informed about: facts of a status, and which of them are sent when."""
