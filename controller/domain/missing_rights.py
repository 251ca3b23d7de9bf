"""The remedy for a right that the API server refused, derived from its message.

Why: the message names user, verb and resource, but no remedy. Invariant: pure; the message of an admission plugin,
which no right would change, stays as it is.
"""

import re

_MISSING = re.compile(
    r' is forbidden: User "(?P<user>[^"]+)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)"'
    r'(?: in API group "(?P<group>[^"]*)")?'
)
_ACCOUNT = "system:serviceaccount:"


def with_remedy(message: str) -> str:
    """The API server's words and, where a right is missing, which one to grant to whom."""
    found = _MISSING.search(message)
    if found is None:
        return message
    resource, _, part = found["resource"].partition("/")
    resource = ".".join(filter(None, (resource, found["group"]))) + (part and f"/{part}")
    return f"{message}; grant {found['verb']} on {resource} to {_subject(found['user'])}"


def _subject(user: str) -> str:
    account = user.removeprefix(_ACCOUNT)
    if account == user:
        return f"user {user}"
    return f"ServiceAccount {account.replace(':', '/', 1)}"
