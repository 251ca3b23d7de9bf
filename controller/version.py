"""The version of the installed program, for `--version`, logs and metrics.

Invariant: read from the installed package, so that it is written down once (pyproject.toml). Must not ask a cluster.
"""

import importlib.metadata

UNKNOWN = "unknown (not installed as a package)"


def program_version() -> str:
    """The version of the package `moonshift`; `UNKNOWN` where only its files are there."""
    try:
        return importlib.metadata.version("moonshift")
    except importlib.metadata.PackageNotFoundError:
        return UNKNOWN
