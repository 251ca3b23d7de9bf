"""Marks: no value reaches a script, no mark leaves the controller, and a mark chooses no address."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.analysis import SecretKey
from controller.domain.exchange.answer import Asks, Does, SourceValue, read_turn
from controller.domain.exchange.fields import Refused
from controller.domain.exchange.marks import BYTES_OF_A_MARK, PREFIX, marks_for
from controller.domain.exchange.placing import (
    IN_ADDRESS,
    IN_NAME,
    IN_OBJECT,
    NOT_KEPT,
    NOT_OF_THIS_TURN,
    NOT_SHOWN,
    OWN_PLACE,
    Outgoing,
    placed,
    shown_first,
    unfit_result,
)
from controller.domain.exchange.request import HttpRequest, ObjectRequest, Verb
from controller.domain.gates.secret_places import secrets_of, with_values

SECRETS = {"key": SecretKey("dd", "api"), "token": SecretKey("vendor", "t.oken")}
MARKS = marks_for(SECRETS, bytes(range(2 * BYTES_OF_A_MARK)))
KEY, TOKEN = MARKS.by_name["key"], MARKS.by_name["token"]
PLACE = "{{ secret dd/api }}"
URL = "https://api.example.com/v1"


def asks(**request: object) -> Asks:
    found = read_turn(Does.SOURCE, json.dumps({"ask": [{"url": URL, **request}]}).encode())
    assert isinstance(found, Asks), found
    return found


def outgoing(**request: object) -> Outgoing:
    found = placed(asks(**request), MARKS)
    assert not isinstance(found, Refused), found
    (one,) = found
    assert isinstance(one, Outgoing)
    return one


def test_each_mark_is_new_and_says_nothing() -> None:
    assert MARKS.of_secrets == {"key": f"{PREFIX}{bytes(range(16)).hex()}", "token": TOKEN}
    assert KEY != TOKEN
    with pytest.raises(ValueError, match="16 random bytes"):
        marks_for(SECRETS, bytes(31))


def test_a_mark_becomes_the_place_of_its_value() -> None:
    found = outgoing(
        url=f"{URL}/{KEY}/x",
        query={"k": f"a {KEY}"},
        headers={"Authorization": f"Bearer {TOKEN}"},
        json={"a": [f'"{KEY}\\']},
        basic=["me", KEY],
        method="PUT",
    )
    assert found == Outgoing(
        url=f"{URL}/{PLACE}/x?k=a+{PLACE}",
        method=Verb.PUT,
        headers=(
            ("Authorization", "Bearer {{ secret vendor/t.oken }}"),
            ("Content-Type", "application/json"),
        ),
        body='{"a":["\\"' + PLACE + '\\\\"]}',
        is_json=True,
        basic=("me", PLACE),
    )


def test_contents_of_other_types_have_places_too() -> None:
    assert outgoing(form={"a": KEY}).form == (("a", PLACE),)
    text = outgoing(body=f"k={KEY}")
    assert (text.body, text.headers) == (
        f"k={PLACE}",
        (("Content-Type", "text/plain; charset=utf-8"),),
    )
    own = {"content-type": "application/x-ndjson"}
    assert outgoing(body="{}", headers=own).headers == tuple(own.items())


@pytest.mark.parametrize(
    ("request_", "place", "why"),
    [
        ({"url": f"https://{KEY}/"}, "url", IN_ADDRESS),
        ({"url": f"https://{KEY.lower()}.evil.com/"}, "url", NOT_OF_THIS_TURN),
        ({"url": f"https://a.com:{KEY}/"}, "url", IN_ADDRESS),
        ({"url": f"https://me:{KEY}@a.com/"}, "url", IN_ADDRESS),
        ({"headers": {KEY: "x"}}, "headers", IN_NAME),
        ({"query": {KEY: "x"}}, "query", IN_NAME),
        ({"form": {KEY: "x"}}, "form", IN_NAME),
        ({"json": {"a": [{KEY: "x"}]}}, "json", IN_NAME),
        ({"json": {"a": f"{PREFIX}{'0' * 32}"}}, "json", NOT_OF_THIS_TURN),
        ({"headers": {"a": KEY[:-1]}}, "headers", NOT_OF_THIS_TURN),
        ({"headers": {"a": PLACE}}, "headers", OWN_PLACE),
        ({"query": {"a": PLACE}}, "query", OWN_PLACE),
        ({"body": PLACE}, "body", OWN_PLACE),
        ({"form": {"a": PLACE}}, "form", OWN_PLACE),
        ({"json": {PLACE: 1}}, "json", OWN_PLACE),
        ({"basic": ["a", PLACE]}, "basic", OWN_PLACE),
        ({"url": f"{URL}/{{{{%20secret"}, "", ""),
    ],
)
def test_a_text_that_may_not_stand_there_is_refused(
    request_: dict[str, object], place: str, why: str
) -> None:
    wanted = Refused(f"ask[1].{place}", why) if why else None
    found = placed(asks(**request_), MARKS)
    assert (found if isinstance(found, Refused) else None) == wanted


def test_no_mark_chooses_an_object_or_is_kept() -> None:
    assert placed(Asks((ObjectRequest("v1", "Secret", KEY.lower()),)), MARKS) == Refused(
        "ask[1].get", IN_OBJECT
    )
    one = ObjectRequest("v1", "Service", "web")
    assert placed(Asks((one,)), MARKS) == (one,)
    kept = Asks((HttpRequest(URL),), state={"a": [KEY]})
    assert placed(kept, MARKS) == Refused("state", NOT_KEPT)
    assert unfit_result(kept) == Refused("state", NOT_KEPT)
    assert unfit_result(SourceValue(KEY)) == Refused("value", NOT_SHOWN)
    assert unfit_result(SourceValue(1.0)) is None
    assert shown_first((one,)) == "Service web"


def test_words_of_a_script_have_the_name_of_a_secret_only() -> None:
    other = f"{PREFIX}{'f' * 32}"
    assert MARKS.without(f"no {KEY} and {other}") == f"no (secret key) and {other}"


TEXTS = st.lists(
    st.sampled_from([KEY, TOKEN, KEY[:20], PLACE, "{{", " secret dd/api }}", '"', "\\", "/", "é"])
    | st.text(max_size=6),
    max_size=4,
).map("".join)
TREES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
REQUESTS = (
    st.fixed_dictionaries(
        {"url": st.sampled_from([URL, f"{URL}/{KEY}", f"https://{KEY}/", f"https://x:{KEY}@h/"])},
        optional={
            "query": st.dictionaries(TEXTS, TEXTS, max_size=2),
            "headers": st.dictionaries(TEXTS, TEXTS, max_size=2),
            "basic": st.tuples(TEXTS, TEXTS),
            "json": TREES,
        },
    )
    | st.fixed_dictionaries({"url": st.just(URL)}, optional={"body": TEXTS})
    | st.fixed_dictionaries(
        {"url": st.just(URL)}, optional={"form": st.dictionaries(TEXTS, TEXTS, max_size=2)}
    )
)


@given(REQUESTS)
def test_no_mark_is_left_and_no_place_is_a_scripts_own(request_: dict[str, object]) -> None:
    turn = read_turn(Does.SOURCE, json.dumps({"ask": [request_]}).encode())
    if isinstance(turn, Refused):
        return
    assert isinstance(turn, Asks)
    found = placed(turn, MARKS)
    if isinstance(found, Refused):
        return
    (one,) = found
    assert isinstance(one, Outgoing)
    texts = [one.url, one.body, *(text for pair in (*one.headers, *one.form) for text in pair)]
    texts += one.basic or ()
    assert PREFIX not in "".join(texts)
    written = json.dumps(request_)
    assert len(secrets_of(texts)) == sum(mark in written for mark in (KEY, TOKEN))
    values = dict.fromkeys(SECRETS.values(), "x/../y")
    assert urlsplit(with_values(one.url, values)).hostname == "api.example.com"
    if one.method is Verb.POST and "json" in request_:
        assert json.loads(one.body) == json.loads(
            json.dumps(request_["json"])
            .replace(KEY, PLACE)
            .replace(TOKEN, "{{ secret vendor/t.oken }}")
        )
    query = request_.get("query")
    if isinstance(query, dict):
        sent = [with_values(text, dict.fromkeys(SECRETS.values(), "v")) for text in (one.url,)]
        assert {name for name, _ in parse_qsl(urlsplit(sent[0]).query)} <= set(query)
