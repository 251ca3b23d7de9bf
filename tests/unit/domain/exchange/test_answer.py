"""The answer of a script in a turn is one value of a closed union, or a refusal with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.exchange.answer import (
    Asks,
    Does,
    FailedCheck,
    Held,
    Later,
    Passed,
    Sent,
    SourceValue,
    Turn,
    read_turn,
)
from controller.domain.exchange.fields import Refused
from controller.domain.exchange.request import (
    Form,
    HttpRequest,
    JsonBody,
    ObjectRequest,
    Signature,
    TextBody,
    Verb,
    size_of,
)

URL = "https://api.example.com/v1"
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
OF_A_TURN = st.sampled_from(
    ["ask", "again", "state", "value", "samples", "pass", "hold", "fail", "sent", "why"]
)
OF_A_REQUEST = st.sampled_from(
    ["method", "url", "query", "headers", "form", "json", "body", "basic", "sign", "get"]
)


def read(does: Does, answer: object) -> Turn:
    return read_turn(does, json.dumps(answer).encode())


def asked(**request: object) -> HttpRequest:
    found = read(Does.SOURCE, {"ask": [{"url": URL, **request}]})
    assert isinstance(found, Asks), found
    (one,) = found.requests
    assert isinstance(one, HttpRequest)
    return one


def refused(does: Does, answer: object) -> str:
    found = read(does, answer)
    assert isinstance(found, Refused), found
    return str(found)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({}, SourceValue()),
        ({"value": None}, SourceValue()),
        ({"value": 2}, SourceValue(2.0)),
        ({"value": 0.5, "samples": 40}, SourceValue(0.5, 40)),
        ({"value": "ok"}, SourceValue("ok")),
        ({"value": True}, SourceValue("true")),
        ({"value": False}, SourceValue("false")),
    ],
)
def test_a_source_answers_a_value_or_nothing(answer: object, wanted: Turn) -> None:
    assert read(Does.SOURCE, answer) == wanted


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"pass": "no incident"}, Passed("no incident")),
        ({"fail": "rejected\nby anna"}, FailedCheck("rejected by anna")),
        ({"hold": "wait", "again": 60}, Held("wait", 60)),
        ({"hold": "wait", "state": {"id": 1}}, Held("wait", None, {"id": 1})),
        ({"hold": "x" * 400}, Held("x" * 299 + "…")),
    ],
)
def test_a_check_answers_one_verdict_in_words(answer: object, wanted: Turn) -> None:
    assert read(Does.CHECK, answer) == wanted


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"sent": True}, Sent()),
        ({"sent": False}, Later()),
        ({"again": 30, "why": "answered 429"}, Later(30, "answered 429")),
    ],
)
def test_a_target_has_the_event_or_takes_it_later(answer: object, wanted: Turn) -> None:
    assert read(Does.TARGET, answer) == wanted


def test_a_request_has_the_parts_that_the_script_wrote() -> None:
    found = asked(
        query={"from": 1, "tag": ["a", "b c"], "x": 1.5, "on": True},
        headers={"X-Key": "k"},
        basic=["me", "secret"],
        sign="aws",
    )
    assert found == HttpRequest(
        URL,
        Verb.GET,
        (("from", "1"), ("on", "true"), ("tag", "a"), ("tag", "b c"), ("x", "1.5")),
        (("X-Key", "k"),),
        None,
        ("me", "secret"),
        Signature.AWS,
    )
    assert found.address == f"{URL}?from=1&on=true&tag=a&tag=b+c&x=1.5"
    assert asked(url=f"{URL}?a=1", query={"b": 2.0}).address == f"{URL}?a=1&b=2"
    assert asked(basic=["me"]).basic == ("me", "")
    assert found.shown == f"GET {URL}"


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ({"form": {"a": "1"}}, Form((("a", "1"),))),
        ({"json": {"a": [None, 1]}}, JsonBody({"a": [None, 1]})),
        ({"body": "text"}, TextBody("text")),
    ],
)
def test_a_content_makes_it_a_post(content: dict[str, object], wanted: object) -> None:
    found = asked(**content)
    assert (found.method, found.content) == (Verb.POST, wanted)
    assert size_of(found.content) > 0
    assert asked(method="PUT", **content).method is Verb.PUT


def test_an_empty_lua_table_is_a_list_and_a_table_of_names() -> None:
    assert asked(headers=[], query={}) == HttpRequest(URL)
    assert read(Does.SOURCE, {"ask": [{"url": URL, "basic": {}}]}) == Refused(
        "ask[1].basic", "it has 0 items, and may have 1 to 2"
    )


def test_an_object_of_kubernetes_is_read_by_its_name() -> None:
    get = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    found = read(Does.CHECK, {"ask": [{"get": get}], "again": 5, "state": {"n": 1}})
    assert found == Asks((ObjectRequest("apps/v1", "Deployment", "web"),), 5, {"n": 1})
    assert ObjectRequest("v1", "Service", "web").shown == "Service web"


@pytest.mark.parametrize(
    ("does", "answer", "words"),
    [
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "headrs": {}}]},
            "ask[1].headrs: there is no such field",
        ),
        (Does.SOURCE, {"ask": [{"url": URL}], "value": 1}, "value: there is no such field"),
        (Does.SOURCE, {"ask": []}, "ask: it has 0 items, and may have 1 to 4"),
        (Does.SOURCE, {"ask": {}}, "ask: it has 0 items"),
        (Does.SOURCE, {"ask": [{"url": URL}] * 5}, "ask: it has 5 items"),
        (Does.SOURCE, {"ask": "x"}, "ask: it is a text, and should be a list"),
        (Does.SOURCE, {"ask": ["x"]}, "ask[1]: it is a text, and should be a request"),
        (Does.SOURCE, {"ask": [{}]}, "ask[1].url: it should be an address"),
        (Does.SOURCE, {"ask": [{"url": "ftp://x/"}]}, "ask[1].url: it should be"),
        (Does.SOURCE, {"ask": [{"url": "https:///x"}]}, "ask[1].url: it should be"),
        (Does.SOURCE, {"ask": [{"url": "https://h/a b"}]}, "ask[1].url: it should be"),
        (Does.SOURCE, {"ask": [{"url": "https://h/\r\nX: 1"}]}, "ask[1].url: it should be"),
        (Does.SOURCE, {"ask": [{"url": 3}]}, "ask[1].url: it is a number, and should be a text"),
        (Does.SOURCE, {"ask": [{"url": URL + "x" * 8192}]}, "ask[1].url: it has 8218 characters"),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "query": {"a": "x" * 8192}}]},
            "ask[1].url: the address",
        ),
        (Does.SOURCE, {"ask": [{"url": URL, "query": {"a": {}}}]}, "ask[1].query.a: it is a table"),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "query": {"a": [None]}}]},
            "ask[1].query.a: it is null",
        ),
        (Does.SOURCE, {"ask": [{"url": URL, "query": "a=1"}]}, "ask[1].query: it is a text"),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "headers": {f"a{n}": 1 for n in range(65)}}]},
            "ask[1].headers: it has 65 names",
        ),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "headers": {"a b": 1}}]},
            "ask[1].headers: a name of a",
        ),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "headers": {"a": "1\r\nb: 2"}}]},
            "ask[1].headers.a: a header",
        ),
        (Does.SOURCE, {"ask": [{"url": URL, "headers": {"a": 1, "A": 2}}]}, "ask[1].headers: each"),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "method": "TRACE"}]},
            "ask[1].method: it should be one of",
        ),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "method": "GET", "body": "x"}]},
            "ask[1].method: GET has",
        ),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "form": {}, "json": {}}]},
            "ask[1].json: a request has one",
        ),
        (Does.SOURCE, {"ask": [{"url": URL, "json": ["x" * 300_000]}]}, "ask[1].body: the content"),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "basic": [1, "x"]}]},
            "ask[1].basic: it should be {user",
        ),
        (
            Does.SOURCE,
            {"ask": [{"url": URL, "sign": "own"}]},
            "ask[1].sign: it should be one of aws",
        ),
        (Does.CHECK, {"ask": [{"get": {}, "url": URL}]}, "ask[1].url: there is no such field"),
        (Does.CHECK, {"ask": [{"get": {"kind": "../x"}}]}, "ask[1].get.apiVersion: it should be"),
        (Does.CHECK, {"ask": [{"get": "x"}]}, "ask[1].get: it is a text"),
        (Does.SOURCE, {"ask": [{"url": URL}], "again": 31}, "again: it is 31, and may be 0 to 30"),
        (Does.SOURCE, {"ask": [{"url": URL}], "again": True}, "again: it is true or false"),
        (Does.CHECK, {"ask": [{"url": URL}], "again": 4}, "again: it is 4, and may be 5 to 86400"),
        (Does.TARGET, {"again": 1e9}, "again: it is 1e+09"),
        (Does.SOURCE, {"ask": [{"url": URL}], "state": "x"}, "state: it is a text"),
        (
            Does.SOURCE,
            {"ask": [{"url": URL}], "state": {"a": "x" * 1024}},
            "state: it may have 1024",
        ),
        (Does.SOURCE, {"vale": 1}, "vale: there is no such field; there are value, samples"),
        (Does.SOURCE, {"value": [1]}, "value: it is a list, and should be a number or a text"),
        (Does.SOURCE, {"value": "x" * 5000}, "value: it is a text of more than 4 KiB"),
        (Does.SOURCE, {"value": 10**400}, "value: it is too large a number"),
        (Does.SOURCE, {"value": 1, "samples": -1}, "samples: it is -1"),
        (Does.SOURCE, {"again": 2}, "again: it goes with ask"),
        (Does.CHECK, {}, "a check answers one of pass, hold, fail, or ask"),
        (Does.CHECK, {"pass": "a", "fail": "b"}, "a check answers one of"),
        (Does.CHECK, {"pass": " "}, "pass: it should say why"),
        (Does.CHECK, {"pass": "a", "again": 9}, "again: only hold looks again"),
        (Does.TARGET, {}, "a target answers sent, again, or ask"),
        (Does.TARGET, {"sent": 1}, "sent: it is a number"),
        (Does.SOURCE, [1], "a JSON object was expected"),
    ],
)
def test_a_mistake_is_told_with_its_place(does: Does, answer: object, words: str) -> None:
    assert refused(does, answer).startswith(words)


@given(
    st.sampled_from(Does),
    ANY_JSON
    | st.dictionaries(OF_A_TURN, ANY_JSON)
    | st.builds(
        lambda one, rest: {**rest, "ask": [one]},
        st.dictionaries(OF_A_REQUEST, ANY_JSON),
        st.dictionaries(OF_A_TURN, ANY_JSON),
    ),
)
def test_reading_an_answer_never_fails(does: Does, answer: object) -> None:
    assert read(does, answer) is not None
