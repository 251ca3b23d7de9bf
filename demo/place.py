"""The place of the story: `default` in a cluster of its own, or a namespace of its own in an existing cluster.

Invariant: it is known from the command line alone, before any request to a cluster.
"""

import sys

ELSEWHERE = "--kubeconfig"
"""The option that names an existing cluster."""


def namespace(arguments: list[str]) -> str:
    """The namespace for this command line."""
    elsewhere = any(word.partition("=")[0] == ELSEWHERE for word in arguments)
    return "moonshift-demo" if elsewhere else "default"


NAMESPACE = namespace(sys.argv[1:])
