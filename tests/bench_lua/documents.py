"""The work that is measured: the packaged VirtualService script over objects of a given size."""

import json

from msgspec import structs

from controller.cli.script_tools.script_folders import subject_at
from controller.scripts.lookup import FOLDER

PACKAGED = subject_at(FOLDER / "networking.istio.io/VirtualService/trafficRouting.lua").read()
# The same work under another hash: nobody trusts it, so every call has a process of its own.
UNTRUSTED = structs.replace(PACKAGED, text=PACKAGED.text + b"\n-- a user's copy\n")


def _rule(number: int) -> dict[str, object]:
    return {
        "name": f"rule-{number}",
        "match": [
            {
                "uri": {"prefix": f"/api/v1/resource-{number}"},
                "headers": {"x-user": {"exact": f"user-{number}"}},
            }
        ],
        "timeout": "5s",
        "retries": {
            "attempts": 3,
            "perTryTimeout": "2s",
            "retryOn": "connect-failure,refused-stream",
        },
        "corsPolicy": {"allowOrigins": [], "maxAge": None, "allowCredentials": False},
        "route": [{"destination": {"host": "shop", "port": {"number": 8080}}, "weight": 100}],
    }


def document(size: int) -> bytes:
    """A step's input of about `size` bytes."""
    rules: list[dict[str, object]] = []
    while True:
        text = json.dumps(
            {
                "data": {
                    "metadata": {"name": "shop", "namespace": "demo"},
                    "spec": {"hosts": ["shop"], "http": rules},
                },
                "object": {
                    "apiVersion": "networking.istio.io/v1",
                    "kind": "VirtualService",
                    "name": "shop",
                    "namespace": "demo",
                },
                "stableService": "shop",
                "canaryService": "shop-canary",
                "stableWeight": 80,
                "canaryWeight": 20,
                "patchPodMetadata": {"labels": {}, "annotations": {}},
                "params": {},
            },
            separators=(",", ":"),
        ).encode()
        if len(text) >= size:
            return text
        rules = [_rule(n) for n in range(max(1, len(rules) * size // len(text), len(rules) + 1))]
