"""The input of a script that asks in a turn, and the names in its header."""

import json

import pytest

from controller.api.analysis import SecretKey
from controller.domain.exchange.answer import Does
from controller.domain.exchange.declared import Given, secrets_of, undeclared, why_not_run
from controller.domain.exchange.fields import Refused
from controller.domain.exchange.marks import marks_for
from controller.domain.exchange.placing import Outgoing
from controller.domain.exchange.request import ObjectRequest, Signature, Verb
from controller.domain.exchange.turn_input import (
    HttpAnswer,
    ObjectAnswer,
    Question,
    turn_input,
)
from controller.domain.traffic.plan.header import Declared, parse_header

MARKS = marks_for({"key": SecretKey("dd", "api")}, bytes(16))
HEADER = parse_header(
    """--@name Datadog
--@does source
--@asks https, get
--@secrets apiKey, other?
--@params query, site?
--@sign aws monitoring
--@docs https://docs.example.com/
"""
)
QUESTION = Question({"query": "q", "limit": 3}, "id-1", {"window": {"from": 1, "to": 2}})


def test_the_first_turn_has_no_answers_and_no_state() -> None:
    assert json.loads(turn_input(QUESTION, MARKS, 1700000000, 1)) == {
        "params": {"query": "q", "limit": 3},
        "secrets": {"key": "MOONSHIFT_SECRET_" + "00" * 16},
        "now": 1700000000,
        "turn": 1,
        "id": "id-1",
        "window": {"from": 1, "to": 2},
    }


def test_a_later_turn_has_the_answers_in_order() -> None:
    answers = (
        HttpAnswer(404, (("content-type", "text/plain"),), "gone"),
        ObjectAnswer({"kind": "Service"}),
        ObjectAnswer(None),
    )
    found = json.loads(turn_input(QUESTION, MARKS, 1, 2, answers, {"sid": "x"}))
    assert found["answers"] == [
        {"status": 404, "headers": {"content-type": "text/plain"}, "body": "gone"},
        {"status": 200, "object": {"kind": "Service"}},
        {"status": 404},
    ]
    assert found["state"] == {"sid": "x"}


def test_the_header_says_what_a_script_asks_and_needs() -> None:
    assert (HEADER.does, HEADER.asks, HEADER.docs) == (
        "source",
        ("https", "get"),
        "https://docs.example.com/",
    )
    assert HEADER.params == (Declared("query"), Declared("site", needed=False))
    assert (HEADER.signature, HEADER.signs_for) == ("aws", "monitoring")
    assert [one.name for one in secrets_of(HEADER)] == [
        "apiKey",
        "other",
        "accessKeyID",
        "secretAccessKey",
        "sessionToken",
    ]
    assert parse_header("--@does route\nx").does == ""
    assert parse_header("--@does source\n--@sign own").secrets == ()
    assert secrets_of(parse_header("--@does source\n--@sign own")) == ()


@pytest.mark.parametrize(
    ("params", "secrets", "words"),
    [
        (["query"], ["apiKey", "accessKeyID", "secretAccessKey"], ""),
        ([], [], "the script needs the parameter query (--@params)"),
        (
            ["queryy"],
            [],
            "the script has no parameter queryy, did you mean query?; it has query, site (--@params)",
        ),
        (["query"], [], "the script needs the secret apiKey (--@secrets)"),
        (["query"], ["zzz"], "the script has no secret zzz; it has apiKey, other, accessKeyID"),
    ],
)
def test_a_name_that_is_missing_or_unknown_is_refused_before_the_script_runs(
    params: list[str], secrets: list[str], words: str
) -> None:
    found = why_not_run(Does.SOURCE, HEADER, Given(params, secrets))
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_a_script_for_something_else_is_refused() -> None:
    nothing = Given((), ())
    assert "is a source by its header" in why_not_run(Does.CHECK, HEADER, nothing)
    assert "is a route by its header" in why_not_run(Does.SOURCE, parse_header("return 1"), nothing)
    bare = parse_header("--@does check")
    assert why_not_run(Does.CHECK, bare, nothing) == ""
    assert "it has none" in why_not_run(Does.CHECK, bare, Given(["a"], ()))


def test_a_request_that_the_header_does_not_announce_is_refused() -> None:
    https, http = Outgoing("https://a/", Verb.GET), Outgoing("http://a/", Verb.GET)
    pod = ObjectRequest("v1", "Pod", "a")
    assert undeclared(HEADER, (https, pod)) is None
    assert undeclared(HEADER, (https, http)) == Refused(
        "ask[2]", "it asks by http, and the header says --@asks https, get"
    )
    assert undeclared(parse_header(""), (pod,)) == Refused(
        "ask[1]", "it asks by get, and the header says --@asks none"
    )
    signed = Outgoing("https://a/", Verb.GET, sign=Signature.AWS)
    assert undeclared(HEADER, (signed,)) is None
    other = Outgoing("https://a/", Verb.GET, sign=Signature.GOOGLE)
    assert undeclared(HEADER, (other,)) == Refused(
        "ask[1].sign", "the header does not say --@sign google"
    )
