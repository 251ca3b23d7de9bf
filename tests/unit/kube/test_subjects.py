"""About whom the API server is asked."""

from controller.errors import Right
from controller.kube.subjects import attributes, subject_of


def test_a_service_account_has_its_groups() -> None:
    subject = subject_of("shop/router")
    assert subject.user == "system:serviceaccount:shop:router"
    assert set(subject.groups) == {
        "system:serviceaccounts",
        "system:serviceaccounts:shop",
        "system:authenticated",
    }


def test_a_right_is_named_without_its_account_and_without_empty_parts() -> None:
    right = Right("patch", "a.io", "lanes", "", "shop", "web", "shop/router")
    named = {"verb": "patch", "group": "a.io", "resource": "lanes", "namespace": "shop"}
    assert attributes(right) == {**named, "name": "web"}
