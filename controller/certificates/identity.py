"""The controller's own user name at the API server, by which its writes pass its own webhooks.

Why: a webhook that checked the controller's writes would take its holds and restored values for an owner's change. The
user name depends on namespace, ServiceAccount or kubeconfig, so the API server is asked for it, and it is written into
the match conditions of the webhooks. The field manager is part of the condition: with a developer's kubeconfig the same
user's kubectl is still checked. Invariant: replicas that disagree (an upgrade to another account) do not undo each
other: the newest name comes first, the one before it stays for `OVERLAP`, until a later round of a replica drops it.
"""

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta

from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import FIELD_MANAGER

CONDITION = "not-by-moonshift"
"""Name of the match condition."""
MAX_USERS = 2
OVERLAP = timedelta(hours=5)
"""How long the name of an account that was used before stays in the match conditions."""

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


class Identity:
    """The user name of this process's credential; asked for once."""

    def __init__(self, ask: Callable[[], Awaitable[str]]) -> None:
        self._ask = ask
        self.user = ""

    async def known(self) -> str:
        """The user name. Raises what the API client raises."""
        if not self.user:
            self.user = await self._ask()
        return self.user

    def is_own(self, user: str, manager: str) -> bool:
        """A write by this user under this field manager is the controller's."""
        return bool(self.user) and user == self.user and manager == FIELD_MANAGER


def expression(users: tuple[str, ...]) -> str:
    """The match condition: true for every writer except these users as the controller."""
    quoted = ", ".join("'" + _escaped(user) + "'" for user in users)
    return (
        f"!(request.userInfo.username in [{quoted}] && has(request.options.fieldManager) && "
        f"request.options.fieldManager == '{FIELD_MANAGER}')"
    )


def passing(entry: JsonObject, user: str, *, alone: bool) -> JsonObject:
    """A webhook that lets the writes of `user` pass; with `alone`, the writes of no other account."""
    conditions = [child(one) for one in items(entry, "matchConditions")]
    present = next((one for one in conditions if text(one, "name") == CONDITION), {})
    before = _users(text(present, "expression"))
    users = before if user in before else (user, *before)[:MAX_USERS]
    wanted = {"name": CONDITION, "expression": expression((user,) if alone else users)}
    if not present:
        return {**entry, "matchConditions": [wanted, *conditions]}
    replaced = [wanted if one is present else one for one in conditions]
    return {**entry, "matchConditions": replaced}


def _users(written: str) -> tuple[str, ...]:
    """The users that a match condition names, in this form or that of earlier versions."""
    names = (re.sub(r"\\(.)", r"\1", name) for name in _QUOTED.findall(written))
    return tuple(name for name in names if name != FIELD_MANAGER)


def _escaped(user: str) -> str:
    return user.replace("\\", "\\\\").replace("'", "\\'")
