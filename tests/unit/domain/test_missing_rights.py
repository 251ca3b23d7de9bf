"""The message about a refused right says which right to grant to whom."""

import pytest

from controller.domain.missing_rights import with_remedy

ACCOUNT = "system:serviceaccount:kruise-rollout:kruise-rollout-controller-manager"


AUTOSCALERS = (
    f'horizontalpodautoscalers.autoscaling "web" is forbidden: User "{ACCOUNT}" cannot patch resource '
    '"horizontalpodautoscalers" in API group "autoscaling" in the namespace "shop"'
)
OF_A_PERSON = 'pods "web-1" is forbidden: User "jane" cannot delete resource "pods" in API group ""'
STATUS = (
    'rollouts.apps.example is forbidden: User "jane" cannot patch resource "rollouts/status" in API group '
    '"apps.example" at the cluster scope'
)
QUOTA = 'pods "web-1" is forbidden: exceeded quota: pods, requested: pods=1'
TO_OURS = "to ServiceAccount kruise-rollout/kruise-rollout-controller-manager"


@pytest.mark.parametrize(
    ("expected", "remedy"),
    [
        (AUTOSCALERS, f"; grant patch on horizontalpodautoscalers.autoscaling {TO_OURS}"),
        (OF_A_PERSON, "; grant delete on pods to user jane"),
        (STATUS, "; grant patch on rollouts.apps.example/status to user jane"),
        (QUOTA, ""),
    ],
)
def test_the_right_that_is_missing_is_named_with_its_subject(expected: str, remedy: str) -> None:
    assert with_remedy(expected) == expected + remedy
