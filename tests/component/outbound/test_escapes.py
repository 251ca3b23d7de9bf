"""A Secret that comes back in escapes: a server with these habits would tell it to `matches`, letter by letter."""

import base64
import html
import json
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from controller.api.analysis import Format, Header, WebQuery
from controller.outbound import web as pages_of
from controller.outbound.confidential import (
    Answered,
    repeated_in_answer,
    repeated_in_refusal,
    scrubbed_answer,
)
from controller.outbound.fetching import MAX_BYTES, Failed
from tests.component.outbound.pages import Secrets, fetching, served

TOKEN = "aG9/x9&Qw3/kTzz"
Habit = Callable[[str], str]


def units(text: str) -> str:
    """Every letter as `\\u0041`."""
    raw = text.encode("utf-16-be")
    return "".join(f"\\u{raw[at : at + 2].hex()}" for at in range(0, len(raw), 2))


def percent(text: str) -> str:
    """Every byte as `%41`."""
    return "".join(f"%{byte:02x}" for byte in text.encode())


def entities(text: str) -> str:
    """Every letter as `&#65;`."""
    return "".join(f"&#{ord(letter)};" for letter in text)


HABITS: dict[str, Habit] = {
    "as it is": str,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON of PHP": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON in units": units,
    "address": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "address in bytes": percent,
    "HTML": lambda text: html.escape(text),
    "HTML in numbers": entities,
    "JSON of an address": lambda text: json.dumps(quote(text))[1:-1].replace("/", "\\/"),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text))[1:-1],
    "HTML of JSON": lambda text: html.escape(json.dumps(text)),
    "capitals": lambda text: text.encode().swapcase().decode(),
    "hexadecimals": lambda text: text.encode().hex(),
    "Base64": lambda text: base64.b64encode(text.encode()).decode(),
    "Base64 behind a user": lambda text: base64.b64encode(f"me:{text}".encode()).decode(),
    "Base64 in addresses": lambda text: base64.urlsafe_b64encode(f"a{text}b".encode()).decode(),
}


@given(
    text=st.text(st.characters(exclude_categories=["C"]), min_size=8, max_size=40),
    habit=st.sampled_from(sorted(HABITS)),
    around=st.sampled_from(["", '{"a": "', "Bearer "]),
)
def test_a_text_is_found_in_every_habit_of_servers(text: str, habit: str, around: str) -> None:
    body = (around + HABITS[habit](text) + '"}').encode()
    assert repeated_in_answer(body, (text,))
    assert repeated_in_refusal(body, (text,))


@given(
    text=st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=8, max_size=40),
    habit=st.sampled_from(sorted(HABITS)),
    status=st.sampled_from([200, 403]),
)
def test_what_a_script_sees_repeats_no_text_or_is_withheld(
    text: str, habit: str, status: int
) -> None:
    said = HABITS[habit](text)
    seen = scrubbed_answer(Answered(status, (("x-echo", said),), said.encode()), (text,))
    assert not any(repeated_in_answer(value.encode(), (text,)) for _, value in seen.headers)
    if status == 403:
        assert not repeated_in_refusal(seen.body.replace(b"(secret)", b""), (text,))


@pytest.mark.parametrize("habit", sorted(set(HABITS) - {"capitals"}))
async def test_no_metric_reads_a_secret_that_the_server_repeats(habit: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text='{"h": "' + HABITS[habit](request.headers["X-K"]) + '"}')

    secrets = Secrets(s={"token": TOKEN})
    header = Header("X-K", "{{ secret s/token }}")
    async with served(answer) as pages, fetching(pages.address, secrets=secrets) as client:
        for form, path in ((Format.JSON, "h"), (Format.TEXT, "")):
            query = WebQuery(url=pages.address, value_path=path, headers=(header,), format=form)
            with pytest.raises(Failed, match="repeats a value of a Secret"):
                await pages_of.ask(client, "shop", query)


async def test_an_address_that_is_repeated_as_it_was_sent_is_no_value() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=request.raw_path)

    secrets = Secrets(s={"token": TOKEN})
    async with served(answer) as pages, fetching(pages.address, secrets=secrets) as client:
        query = WebQuery(url=f"{pages.address}/e?k={{{{ secret s/token }}}}", format=Format.TEXT)
        with pytest.raises(Failed, match="repeats a value of a Secret"):
            await pages_of.ask(client, "shop", query)


def test_an_answer_with_other_texts_in_escapes_is_a_value() -> None:
    body = json.dumps({"h": "https://a/b?c=%2F&amp;d", "n": [1, 2]}).encode()
    assert not repeated_in_answer(body, (TOKEN,))
    assert not repeated_in_refusal(body, (TOKEN,))


def test_a_full_answer_of_escapes_is_read_in_a_moment() -> None:
    text = '\\u0025%32\\/&amp;+%26lt;"'
    body = (text * (MAX_BYTES // len(text))).encode()
    before = time.process_time()
    assert not repeated_in_answer(body, (TOKEN,))
    assert time.process_time() - before < 10
