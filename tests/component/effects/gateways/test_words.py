"""The advice to a person about a gateway object that cannot be read or written."""

import pytest

from controller.domain.decision import Reference, Refusal
from controller.effects.gateways.failed_writes import (
    cluster_scoped,
    forbidden,
    named_twice,
    somebody_elses,
    unreadable,
)
from controller.errors import Forbidden

DENIED = (
    'gateways.networking.istio.io is forbidden: User "system:serviceaccount:ns:account" cannot list resource '
    '"gateways" in API group "networking.istio.io" at the cluster scope'
)
SUBJECT = "Gateway shop/web"


def test_a_missing_right_names_the_object_and_the_command_that_grants_it() -> None:
    text = unreadable(DENIED, SUBJECT)
    assert text.startswith(f"{SUBJECT}: {DENIED}; ")
    assert "moonshift.dev/aggregate-to-controller" in text
    assert forbidden(Forbidden(DENIED, status=403), SUBJECT).message == text


@pytest.mark.parametrize(
    "message",
    [
        "Gateway (x.io/v1) is not served by this cluster",
        'gateways "web" is forbidden: exceeded quota: routes',
        'admission webhook "freeze" denied the request: you cannot change routes now',
    ],
)
def test_no_right_is_named_if_none_is_missing(message: str) -> None:
    assert unreadable(message, SUBJECT) == f"{SUBJECT}: {message}"


def test_a_cluster_scoped_kind_is_refused_with_the_flag_that_allows_it() -> None:
    refusal = cluster_scoped(Reference("x.io/v1", "Wide", "web", "web", "web"), SUBJECT)
    assert "Wide is cluster-scoped" in refusal.message
    assert "--allow-cluster-scoped-gateways" in refusal.message


@pytest.mark.parametrize(
    ("refusal", "correction"),
    [
        (somebody_elses("Ingress shop/web-canary", "Ingress/web"), "by another object"),
        (named_twice("Ingress web-canary", "Ingress shop/web"), "an object of its own"),
    ],
)
def test_once_a_release_has_moved_no_other_reference_is_asked_for(
    refusal: Refusal, correction: str
) -> None:
    assert correction in refusal.message
    assert correction not in refusal.once_moved
    assert "go back (kubectl moonshift undo)" in refusal.once_moved
