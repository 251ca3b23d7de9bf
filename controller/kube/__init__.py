"""The only door to Kubernetes: transport, caches, and what is built on them. Nothing else imports kr8s or httpx."""

import sys
from typing import cast

# httpx imports its own command line where it can, and with it rich and pygments: 4 MB that nobody uses.
cast("dict[str, object]", sys.modules).setdefault("httpx._main", None)
