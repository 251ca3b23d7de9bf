import pytest

from controller.cli.failures import ExitCode, Failure, explain
from controller.errors import (
    BadConfiguration,
    Conflict,
    Forbidden,
    Invalid,
    LostLease,
    MoonshiftError,
    NotFound,
    ServerFault,
    Throttled,
    Unauthorized,
    Unreachable,
)

UNHEARD = (
    'Internal error occurred: failed calling webhook "vrollout.kb.io": failed to call webhook: Post "https://x/v": '
    "refused"
)
DENIED = (
    'rollouts.rollouts.kruise.io "web" is forbidden: User "jane" cannot patch resource "rollouts/status" '
    'in API group "rollouts.kruise.io" in the namespace "shop"'
)


def test_a_missing_right_is_named_with_the_way_to_check_it() -> None:
    text = explain(Forbidden(DENIED, status=403))
    assert "user jane may not patch rollouts/status (rollouts.kruise.io) in namespace shop" in text
    assert (
        "kubectl auth can-i patch rollouts.rollouts.kruise.io --subresource=status -n shop" in text
    )


def test_a_right_of_the_whole_cluster_and_the_core_group() -> None:
    denied = 'pods is forbidden: User "j" cannot list resource "pods" in API group "" at the cluster scope'
    text = explain(Forbidden(denied, status=403))
    assert "user j may not list pods (core) in all namespaces" in text
    assert "kubectl auth can-i list pods -A" in text


def test_the_refusal_of_an_admission_plugin_is_passed_on() -> None:
    assert explain(Forbidden("the freeze is on", status=403)) == "refused: the freeze is on"


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (Unauthorized("expired", status=401), "log in again"),
        (Unreachable("GET /: refused"), "gave no answer (GET /: refused)"),
        (Throttled("busy"), "too busy"),
        (NotFound("gone", status=404), "not found: gone"),
        (Conflict("moved", status=409), "somebody changed it"),
        (ServerFault("oops", status=500), "failed with code 500"),
        (ServerFault(UNHEARD, status=500), "refused, nothing was changed: the webhook vrollout"),
        (
            ServerFault(UNHEARD, status=500),
            '(failed to call webhook: Post "https://x/v": refused); look',
        ),
        (ServerFault(UNHEARD, status=500), "look whether the controller runs"),
        (ServerFault(UNHEARD.replace("vrollout", "mpod"), status=500), "it is not Moonshift's"),
        (
            ServerFault(UNHEARD.replace("vrollout.kb.io", "validate.policy.example"), status=500),
            "it is not Moonshift's: look whose it is",
        ),
        (Invalid("spec.x: wrong", status=422), "refused it: spec.x: wrong"),
        (BadConfiguration("no such file"), "no such file"),
        (LostLease("gone"), "gone"),
    ],
)
def test_every_failure_is_one_line_with_a_remedy(error: MoonshiftError, part: str) -> None:
    assert part in explain(error)
    assert "\n" not in explain(error)


def test_a_failure_is_printed_as_kubectl_does(capsys: pytest.CaptureFixture[str]) -> None:
    failure = Failure("it went wrong", ExitCode.STALLED)
    failure.show()
    assert capsys.readouterr().err == "error: it went wrong\n"
    assert failure.exit_code == 4
