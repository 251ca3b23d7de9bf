"""The users of a plane and the kubeconfig files they log in with.

Why it exists: each part of a test acts under its own name, so that the audit log shows who sent each request.
Invariant: one token per user and plane, files of mode 0600, the authority inside the file. The names exist for the
audit log; only `recorder` is confined; test RBAC with ServiceAccounts.
"""

import base64
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import yaml

MASTERS = "system:masters"
OPERATORS = "localcluster:operators"
READERS = "localcluster:readers"
GROUPS: Mapping[str, str] = {
    "admin": MASTERS,
    "kcm": MASTERS,
    "scheduler": MASTERS,
    "kwok": MASTERS,
    "kruise": MASTERS,
    "gateways": MASTERS,
    "recorder": READERS,
    "approver": OPERATORS,
    "gateway": OPERATORS,
    "developer": OPERATORS,
    # A real node's programs have the names and groups that Kubernetes gives rights to.
    "system:node:node": "system:nodes",
    "system:kube-proxy": "localcluster:proxies",
    "coredns": READERS,
}


def new_tokens() -> dict[str, str]:
    """Return a fresh token for each user."""
    return {user: secrets.token_urlsafe(24) for user in GROUPS}


def tokens_csv(tokens: Mapping[str, str]) -> str:
    """Return the API server's token file."""
    return "".join(f'{token},{user},{user},"{GROUPS[user]}"\n' for user, token in tokens.items())


def kubeconfig_text(url: str, authority: bytes, user: str, token: str) -> str:
    """Return a kubeconfig with one cluster, one user and one context."""
    data = base64.b64encode(authority).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "localcluster",
                "cluster": {"server": url, "certificate-authority-data": data},
            }
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [
            {
                "name": "localcluster",
                "context": {"cluster": "localcluster", "user": user, "namespace": "default"},
            }
        ],
        "current-context": "localcluster",
    }
    return yaml.safe_dump(config, sort_keys=False)


def write_private(path: Path, text: str) -> Path:
    """Write a file only its owner can read; readers see the old text or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    partial.rename(path)
    return path
