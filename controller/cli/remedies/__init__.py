"""Commands to type next, for every reason that a release does not go on."""
