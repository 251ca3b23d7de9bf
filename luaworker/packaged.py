"""The scripts that came with the product, known by their hashes.

Trust is not a field of a request: a script is *packaged* when its SHA-256 is that of a file in the product's own
`lua_configuration/`. The folder lies beside this package, in a checkout as in an installed wheel.
"""

import hashlib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "lua_configuration"


def hashes(folder: Path = FOLDER) -> frozenset[bytes]:
    """SHA-256 of every packaged script; empty where the folder is not installed."""
    return frozenset(
        hashlib.sha256(path.read_bytes()).digest() for path in sorted(folder.rglob("*.lua"))
    )
