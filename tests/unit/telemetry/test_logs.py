"""Log lines: complete, parsable, without credentials."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from aiohttp.http_exceptions import BadHttpMessage

from controller.telemetry.logs import HIDDEN, configure_logging, redacted

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtb29uIn0.c2lnbmF0dXJl"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = tuple(root.handlers), root.level
    target = io.StringIO()
    configure_logging("info", stream=target)
    yield target
    for handler in tuple(root.handlers):
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_extra_values_become_keys_of_their_own(stream: io.StringIO) -> None:
    logging.getLogger("m").info("step %d", 2, extra={"rollout": "shop/web", "took": 1.5})
    (line,) = lines(stream)
    assert line["msg"] == "step 2"
    assert (line["rollout"], line["took"], line["level"], line["logger"]) == (
        "shop/web",
        1.5,
        "info",
        "m",
    )
    assert str(line["ts"]).endswith("+00:00")


def test_a_traceback_stays_on_its_line(stream: io.StringIO) -> None:
    try:
        raise ZeroDivisionError("oops")
    except ZeroDivisionError:
        logging.getLogger("m").exception("crashed")
    (line,) = lines(stream)
    assert "ZeroDivisionError: oops" in str(line["stack"])


def test_bytes_that_are_no_http_are_a_line_and_no_error(stream: io.StringIO) -> None:
    try:
        raise BadHttpMessage("x" * 8_000)
    except BadHttpMessage:
        logging.getLogger("aiohttp.server").exception("Error handling request from %s", "10.0.0.1")
    (line,) = lines(stream)
    assert (line["level"], line["msg"]) == ("info", "a client sent bytes that are no HTTP request")
    assert "stack" not in line


def test_any_object_can_be_logged(stream: io.StringIO) -> None:
    logging.getLogger("m").info("x", extra={"thing": object(), "items": [1, {2}]})
    (line,) = lines(stream)
    assert str(line["thing"]).startswith("<object")


def test_libraries_that_log_every_request_are_quiet(stream: io.StringIO) -> None:
    logging.getLogger("httpx").info("GET ...")
    assert stream.getvalue() == ""


def test_a_terminal_gets_text(stream: io.StringIO) -> None:
    configure_logging("info", stream=stream, json_lines=False)
    logging.getLogger("m").info("hello", extra={"key": "a/b", "token": "s3cret-s3cret"})
    assert stream.getvalue().rstrip().endswith(f"INFO    hello key=a/b token={HIDDEN}")


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {JWT}",
        f"headers={{'authorization': 'Bearer {JWT}'}}",
        "Bearer abcdef0123456789",
        "token=abcdef0123456789",
        '"token": "abcdef0123456789"',
        "password: abcdef0123456789",
        f"the jwt {JWT} was refused",
    ],
)
def test_no_credential_of_any_shape_gets_out(text: str) -> None:
    shown = redacted(text)
    assert "abcdef0123456789" not in shown
    assert JWT not in shown
    assert HIDDEN in shown


def test_credentials_in_values_and_under_telling_keys_are_hidden(stream: io.StringIO) -> None:
    logging.getLogger("m").info(
        "x", extra={"url": f"http://h/?token={JWT}", "client_secret": "abc", "Authorization": "abc"}
    )
    (line,) = lines(stream)
    assert JWT not in json.dumps(line)
    assert (line["client_secret"], line["Authorization"]) == (HIDDEN, HIDDEN)


@pytest.mark.parametrize(
    "text", ["the token was read again", "no password is needed", "a bearer of news"]
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert redacted(text) == text
