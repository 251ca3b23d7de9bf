"""A watch as it comes over the wire: bytes, lines, events.

Invariants: lines end at the byte LF and nowhere else (text splitting also breaks at U+0085, which users can put
into an annotation); an incomplete last line is never handed out; an event's object stays bytes until somebody
knows its type; a line that cannot be decoded is a `MsgspecError`, and a page an `UnreadableAnswer`.
"""

from collections.abc import AsyncGenerator, AsyncIterator

import msgspec

from controller.api.decoding import reader_of
from controller.errors import ServerFault, UnreadableAnswer
from controller.kube.errors import Status, error_from_status

LONGEST_LINE = 64 * 1024 * 1024


class WatchEvent(msgspec.Struct, frozen=True):
    """One line of a watch; `type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""

    type: str
    object: msgspec.Raw


class Identity(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an object that can be read even when the rest is invalid."""

    class Metadata(msgspec.Struct, frozen=True, rename="camel"):
        """The parts that name an object and its version."""

        name: str = ""
        namespace: str = ""
        resource_version: str = ""

    metadata: Metadata = Metadata()


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Metadata of a list; `continue_` leads to the next page."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """One page of a list, its items still bytes."""

    metadata: ListMeta = ListMeta()
    # Go writes a nil slice as null
    items: tuple[msgspec.Raw, ...] | None = ()


class PageHead(msgspec.Struct, frozen=True):
    """One page of a list without its items."""

    metadata: ListMeta = ListMeta()


read_event = reader_of(WatchEvent)
read_identity = reader_of(Identity)
# for `nesting.read_around`: these raise RecursionError
event_of = msgspec.json.Decoder(WatchEvent).decode
page_of = msgspec.json.Decoder(Page).decode
page_head_of = msgspec.json.Decoder(PageHead).decode
_read_status = reader_of(Status)
_read_page = reader_of(Page)


def read_page(page: bytes) -> Page:
    """A page of a list. Raises UnreadableAnswer; a reflector reads around objects that are nested too deeply."""
    try:
        return _read_page(page)
    except msgspec.DecodeError as failure:
        raise UnreadableAnswer(f"a list could not be read: {failure}") from failure


def error_in_stream(event: WatchEvent) -> Exception:
    """The exception for an ERROR event; its object is a Status."""
    try:
        return error_from_status(_read_status(event.object))
    except msgspec.MsgspecError:
        return ServerFault("the watch ended with an unreadable error", status=500)


async def complete_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Split at newlines; an incomplete last line is dropped, because the watch will send it again."""
    pending: list[bytes] = []
    length = 0
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            line = b"".join((*pending, piece)) if pending else piece
            pending, length = [], 0
            if line:
                yield line
        if rest:
            pending.append(rest)
            length += len(rest)
            if length > LONGEST_LINE:
                raise ServerFault("the watch sent a line without an end", status=500)
