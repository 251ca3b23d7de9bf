"""Asks whether the author of a Rollout or TrafficRouting may impersonate the ServiceAccount that a script uses.

Invariant: the question contains everything that authentication found about the author; every answer but a clear yes
refuses the request. Questions are limited, because forged reviews cause them: beyond a burst the request is refused.
"""

from typing import Protocol

from controller.domain.admission.accounts import NamedAccount
from controller.errors import MoonshiftError, Right
from controller.kube.subjects import Subject
from controller.webhook.readers import Allowance
from controller.webhook.review import User


class Reviews(Protocol):
    """The API server's authorizer."""

    async def may_user(self, subject: Subject, right: Right) -> bool:
        """Whether somebody has a right."""
        ...


class Impersonation:
    """Asks about authors."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews
        self._live = Allowance()

    async def refuses(self, user: User, namespace: str, found: NamedAccount) -> str:
        """Why the author may not use the account; empty if the author may."""
        account = f"ServiceAccount {namespace}/{found.account}"
        extra = {name: values or () for name, values in (user.extra or {}).items()}
        subject = Subject(user.username, user.uid, user.groups or (), extra)
        right = Right("impersonate", "", "serviceaccounts", "", namespace, found.account)
        if not self._live.take():
            return f"{found.path}: too many questions about rights at once: try again in a moment"
        try:
            allowed = await self._reviews.may_user(subject, right)
        except MoonshiftError as failure:
            return f"{found.path}: whether you may impersonate {account} cannot be asked: {failure}"
        if allowed:
            return ""
        return (
            f"{found.path}: Forbidden: a script would act with the rights of {account}, and user {user.username!r} may "
            f"not impersonate it; ask somebody who may to write this, or for the right: kubectl create role "
            f"impersonate-{found.account} -n {namespace} --verb=impersonate --resource=serviceaccounts "
            f"--resource-name={found.account}, and a binding"
        )
