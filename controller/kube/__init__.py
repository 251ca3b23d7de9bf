"""The only door to Kubernetes: transport, caches, and what is built on them. Nothing else imports kr8s or httpx."""

import sys
from typing import cast

# kr8s imports httpx, and httpx imports its own command line with rich and pygments: 4 MB that nothing here uses.
# None bars that import; httpx expects it to fail.
cast("dict[str, object]", sys.modules).setdefault("httpx._main", None)
