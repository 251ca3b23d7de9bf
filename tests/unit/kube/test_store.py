"""The store and its indexes against the plain answer, after any sequence of changes."""

from collections.abc import Iterable

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from controller.api.meta import Key, ObjectMeta
from controller.kube.store import Store


class View(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    colours: tuple[str, ...] = ()


def view(name: str, version: str = "1", colours: Iterable[str] = (), uid: str = "u") -> View:
    metadata = ObjectMeta(name=name, namespace="ns", uid=uid, resource_version=version)
    return View(metadata, tuple(colours))


def coloured() -> Store[View]:
    return Store({"colour": lambda one: one.colours})


def key(name: str) -> Key:
    return Key("ns", name)


VIEWS = st.builds(
    view,
    st.sampled_from("abcd"),
    st.sampled_from("123"),
    st.lists(st.sampled_from(["red", "blue", "green"]), max_size=3),
    st.sampled_from(["u", "v"]),
)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), VIEWS),
        st.tuples(st.just("remove"), VIEWS),
        st.tuples(
            st.just("replace"), st.lists(VIEWS, max_size=4, unique_by=lambda v: v.metadata.name)
        ),
    ),
    max_size=30,
)


class Follower:
    """Rebuilds the content from what a listener hears."""

    def __init__(self) -> None:
        self.content: dict[Key, View] = {}

    def __call__(self, old: View | None, new: View | None) -> None:
        assert old is not None or new is not None
        if old is not None and new is not None:
            assert old.metadata.uid == new.metadata.uid, "a successor is not a change"
            assert old is not new
        if old is not None:
            assert self.content.pop(old.metadata.key) is old
        if new is not None:
            assert new.metadata.key not in self.content
            self.content[new.metadata.key] = new


@given(CHANGES)
def test_indexes_and_listeners_always_agree_with_the_content(
    changes: list[tuple[str, View | list[View]]],
) -> None:
    store = coloured()
    follower = Follower()
    store.subscribe(follower)
    for action, argument in changes:
        if isinstance(argument, list):
            store.replace_all(argument)
            assert {one.metadata.key for one in argument} == set(store.keys())
        elif action == "put":
            store.put(argument)
            assert store.get(argument.metadata.key) == argument or (
                store.resource_version(argument.metadata.key) == argument.metadata.resource_version
            )
        else:
            store.remove(argument.metadata.key)
            assert argument.metadata.key not in store
        assert follower.content == {one.metadata.key: one for one in store.values()}
        for colour in ("red", "blue", "green"):
            found = store.index("colour", colour)
            assert len(found) == len({one.metadata.key for one in found})
            assert {one.metadata.key for one in found} == {
                one.metadata.key for one in store.values() if colour in one.colours
            }


def test_an_object_known_in_this_version_changes_nothing() -> None:
    store = coloured()
    first = view("a", "1")
    store.put(first)
    store.put(view("a", "1", ["red"]))
    assert store.get(key("a")) is first


def test_a_removal_that_names_another_uid_is_ignored() -> None:
    store = coloured()
    store.put(view("a", uid="new"))
    store.remove(key("a"), "old")
    assert len(store) == 1
    store.remove(key("a"), "new")
    assert len(store) == 0


def test_replacing_keeps_the_named_fields() -> None:
    store = coloured()
    store.put(view("a", "1", ["red"]))
    store.put(view("b", "1"))
    store.replace_all([view("c", "2")], keep=[key("a")])
    assert set(store.keys()) == {key("a"), key("c")}
    assert store.index("colour", "red")


def test_listeners_see_the_whole_replacement_in_place() -> None:
    store = coloured()
    store.put(view("a"))
    sizes: list[int] = []
    store.subscribe(lambda old, new: sizes.append(len(store)))
    store.replace_all([view("b"), view("c"), view("d")])
    assert sizes == [3, 3, 3, 3]


def test_a_listener_that_leaves_gets_no_more_changes() -> None:
    store = coloured()
    follower = Follower()
    leave = store.subscribe(follower)
    store.put(view("a"))
    leave()
    store.put(view("b"))
    assert list(follower.content) == [key("a")]


def test_an_index_without_entries_holds_no_memory() -> None:
    store = coloured()
    for number in range(100):
        store.put(view("a", str(number), [f"colour-{number}"]))
    store.remove(key("a"))
    assert store._indexes["colour"] == {}
