"""A Secret goes only to hosts that its annotation names, and says how to change that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.gates.secret_destinations import GateSecret

HOST = "metrics.example.com"


def secret(send_to: str) -> GateSecret:
    """The Secret with this annotation."""
    return GateSecret("shop", "creds", {"token": "hush"}, send_to)


@pytest.mark.parametrize(
    ("send_to", "host", "port", "admitted"),
    [
        (HOST, HOST, 443, True),
        (f" other.test ,{HOST.upper()}.,", HOST, 443, True),
        (HOST, f"{HOST}.", 443, True),
        (f"{HOST}:9090", HOST, 9090, True),
        (f"{HOST}:9090", HOST, 443, False),
        ("*.example.com", HOST, 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("example.com", HOST, 443, False),
        ("*", HOST, 443, False),
        (f"https://{HOST}", HOST, 443, False),
        (f"{HOST}/path", HOST, 443, False),
        ("::1", "::1", 80, True),
        ("[::1]:9090", "::1", 9090, True),
        ("[::1]:9090", "::1", 80, False),
        ("", HOST, 443, False),
        (" , ", HOST, 443, False),
        (":443", "", 443, False),
    ],
)
def test_only_a_named_host_gets_the_values(
    send_to: str, host: str, port: int, admitted: bool
) -> None:
    assert (secret(send_to).refusal(host, port) == "") == admitted


def test_a_refusal_names_the_secret_the_annotation_and_the_command() -> None:
    assert secret("").refusal(HOST, 443) == (
        "Secret shop/creds has no annotation moonshift.dev/send-to, so no gate may use it: a person who may write the "
        "Secret allows it with kubectl annotate secret creds -n shop --overwrite "
        "moonshift.dev/send-to=metrics.example.com"
    )
    assert secret("a.test").refusal(HOST, 443) == (
        "Secret shop/creds names other hosts than metrics.example.com in its annotation moonshift.dev/send-to, so it "
        "is not sent there: a person who may write the Secret allows it with kubectl annotate secret creds -n shop "
        "--overwrite moonshift.dev/send-to=a.test,metrics.example.com"
    )


def test_the_command_is_safe_to_type_whatever_the_annotation_says() -> None:
    assert (
        secret("a'; rm -rf")
        .refusal(HOST, 443)
        .endswith("""--overwrite 'moonshift.dev/send-to=a'"'"'; rm -rf,metrics.example.com'""")
    )


def test_a_person_may_add_a_host_of_their_own_to_a_secret_that_gates_may_use() -> None:
    assert secret("a.test").also_to("localhost").refusal("localhost", 9090) == ""
    assert secret("").also_to("localhost").refusal("localhost", 9090) != ""


@given(st.text(max_size=40), st.sampled_from([HOST, "10.0.0.1", "::1", "localhost"]))
def test_no_text_admits_a_host_that_it_does_not_name(send_to: str, host: str) -> None:
    admitted = secret(send_to).refusal(host, 443) == ""
    named = host in send_to.lower() or "*." in send_to
    assert named or not admitted


def test_a_persons_own_values_go_where_that_person_sends_them() -> None:
    assert GateSecret("shop", "creds", {"token": "hush"}, anywhere=True).refusal(HOST, 443) == ""


def test_values_are_never_in_a_refusal() -> None:
    assert "hush" not in secret("").refusal(HOST, 443)


def test_the_line_ends_that_an_editor_leaves_are_no_part_of_a_value() -> None:
    found = GateSecret("shop", "creds", {"token": "a b\r\n", "other": "\nc"}, "metrics.test")
    assert found.without_line_ends().values == {"token": "a b", "other": "c"}
    assert found.without_line_ends().send_to == "metrics.test"


@pytest.mark.parametrize(
    ("host", "port", "named"),
    [
        (HOST, 9090, f"{HOST}:9090"),
        ("::1", 9090, "'moonshift.dev/send-to=[::1]:9090'"),
        (HOST, 80, HOST),
    ],
)
def test_the_command_allows_no_other_port_than_the_asked_one(
    host: str, port: int, named: str
) -> None:
    assert secret("").refusal(host, port).endswith(named)
    allowed = named.strip("'").rpartition("=")[2]
    assert secret(allowed).refusal(host, port) == ""
