"""Bytes of a watch become lines wherever the network cuts them."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.errors import Gone, ServerFault
from controller.kube import watch
from controller.kube.watch import complete_lines, error_in_stream, read_event, read_page

LINES = st.lists(
    st.text(st.sampled_from("ab\u0085\u2028\u2029\x1c\r ü"), min_size=1).map(str.encode), max_size=8
)


async def collected(chunks: list[bytes]) -> list[bytes]:
    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [line async for line in complete_lines(source())]


@given(LINES, st.lists(st.integers(1, 7), min_size=1, max_size=10), st.binary(max_size=3))
def test_cuts_do_not_matter_and_an_incomplete_line_is_dropped(
    lines: list[bytes], sizes: list[int], rest: bytes
) -> None:
    data = b"".join(line + b"\n" for line in lines) + rest.replace(b"\n", b"")
    chunks: list[bytes] = []
    while data:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(data[:size])
        data = data[size:]
    assert asyncio.run(collected(chunks)) == lines


def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LONGEST_LINE", 100)
    with pytest.raises(ServerFault, match="without an end"):
        asyncio.run(collected([b"x" * 60, b"x" * 60]))


def test_an_error_event_becomes_its_exception() -> None:
    gone = read_event(b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}')
    assert isinstance(error_in_stream(gone), Gone)
    strange = read_event(b'{"type":"ERROR","object":[]}')
    assert isinstance(error_in_stream(strange), ServerFault)


def test_a_list_whose_items_are_null_is_empty() -> None:
    page = read_page(b'{"metadata":{"resourceVersion":"5","continue":""},"items":null}')
    assert page.metadata.resource_version == "5"
    assert page.items is None
