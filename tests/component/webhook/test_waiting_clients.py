"""The connections that wait for a place, and the time that they wait."""

from controller.webhook.waiting_clients import WaitingRoom


class Client:
    """A socket that only ends."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_places_are_given_in_the_order_of_coming() -> None:
    room: WaitingRoom[Client] = WaitingRoom(most=9, seconds=8)
    first, second = Client(), Client()
    room.enter("a", first, 0.0)
    room.enter("a", second, 1.0)
    assert room.take("a") is first
    assert room.waits("a")
    assert room.take("a") is second
    assert not room.waits("a")
    assert not room


def test_the_address_with_the_fewest_places_comes_first() -> None:
    room: WaitingRoom[Client] = WaitingRoom(most=9, seconds=8)
    for address in ("flooder", "api-server", "new"):
        room.enter(address, Client(), 0.0)
    assert room.fewest_first({"flooder": 64, "api-server": 3}) == ["new", "api-server", "flooder"]


def test_where_too_many_wait_the_newest_of_the_longest_queue_goes() -> None:
    room: WaitingRoom[Client] = WaitingRoom(most=3, seconds=8)
    flood = [Client(), Client(), Client()]
    for client in flood:
        room.enter("flooder", client, 0.0)
    honest = Client()
    room.enter("api-server", honest, 1.0)
    assert [client.closed for client in (*flood, honest)] == [False, False, True, False]
    assert len(room) == 3


def test_a_newcomer_to_the_longest_queue_is_closed() -> None:
    room: WaitingRoom[Client] = WaitingRoom(most=2, seconds=8)
    present, late = [Client(), Client()], Client()
    for address, client in zip(("a", "b"), present, strict=True):
        room.enter(address, client, 0.0)
    room.enter("b", late, 1.0)
    assert late.closed
    assert not any(client.closed for client in present)


def test_only_a_client_that_waited_too_long_is_closed() -> None:
    room: WaitingRoom[Client] = WaitingRoom(most=9, seconds=8)
    old, young = Client(), Client()
    room.enter("a", old, 0.0)
    room.enter("a", young, 5.0)
    assert room.expire(7.9) == 0
    assert room.expire(8.0) == 1
    assert (old.closed, young.closed) == (True, False)
    room.close()
    assert young.closed
    assert not room
