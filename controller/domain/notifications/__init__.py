"""Events of releases that people are told of: facts of a status, and which of them are told when."""
