"""The question whether a gateway took an object (a script's second chunk): its input, and its answer.

Invariant: the input is the live object's alone, so an answer holds for as long as the object has this version. A
gateway's words are shortened, and printed on one line.
"""

from typing import assert_never

from controller.domain.decision import Reference
from controller.domain.decision.taken import NotTakenYet, RefusedByGateway, Taken, Verdict
from controller.domain.traffic.plan.script_input import params_of
from controller.domain.traffic.tree import Tree, decode, encode

LONGEST = 600
"""Characters of a gateway's words."""
EXPECTED = 'expected {taken = true}, {wait = "words"} or {refused = "words"}'


def taken_input(
    reference: Reference, namespace: str, live: Tree, written: Tree, before: Tree | None
) -> bytes:
    """The global `obj` of one call. `written` is the content of our last write; `before` was reported before it."""
    metadata = live.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    obj: Tree = {
        "data": {"spec": live.get("spec") or {}, "metadata": _shown(metadata)},
        "status": live.get("status") or {},
        "generation": metadata.get("generation") or 0,
        "written": written,
        "object": {
            "apiVersion": live.get("apiVersion") or reference.api_version,
            "kind": reference.kind,
            "name": reference.name,
            "namespace": namespace,
        },
        "params": params_of(reference),
    }
    if before is not None:
        obj["before"] = before
    return encode(obj)


def _shown(metadata: Tree) -> Tree:
    """Names alone: annotations may have any size, and ours are no script's business."""
    return {key: metadata[key] for key in ("name", "namespace") if key in metadata}


def verdict_of(answer: bytes) -> Verdict | None:
    """The verdict in a script's answer; None if it is no answer to this question."""
    match decode(answer):
        case {"taken": True, **others} if not others:
            return Taken()
        case {"wait": str(why), **others} if not others:
            return NotTakenYet(_line(why))
        case {"refused": str(words), **others} if not others and words.strip():
            return RefusedByGateway(_line(words))
        case _:
            return None


def _line(words: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return plain if len(plain) <= LONGEST else f"{plain[:LONGEST]} …"


def in_words(verdict: Verdict, named: str) -> str:
    """The gateway's verdict on an object."""
    match verdict:
        case Taken():
            return f"{named} is taken by its gateway"
        case NotTakenYet(why=why):
            return f"{named} is not yet taken by its gateway{f': {why}' if why else ''}"
        case RefusedByGateway(words=words):
            return f"{named} is refused by its gateway: {words}"
        case _:
            assert_never(verdict)
