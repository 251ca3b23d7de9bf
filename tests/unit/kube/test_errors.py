"""Answers of the API server as exceptions."""

import pytest

from controller.errors import Throttled
from controller.kube.errors import LONGEST_WAIT, error_from_response


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("7", b"", 7.0),
        ("", b'{"details": {"retryAfterSeconds": 8}}', 8.0),
        ("", b"", 0.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", b"", 0.0),
        ("86400", b"", LONGEST_WAIT),
        ("9" * 400, b"", LONGEST_WAIT),
        ("", b'{"details": {"retryAfterSeconds": 86400}}', LONGEST_WAIT),
    ],
    ids=["header", "status", "none", "a date", "a day", "for ever", "a day in the status"],
)
def test_a_server_is_left_alone_for_as_long_as_it_asks_but_not_for_a_day(
    header: str, body: bytes, expected: float
) -> None:
    failure = error_from_response(429, body, header)
    assert isinstance(failure, Throttled)
    assert failure.retry_after == expected
