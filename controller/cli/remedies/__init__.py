"""Commands to type next, for every reason for which a release does not continue."""
