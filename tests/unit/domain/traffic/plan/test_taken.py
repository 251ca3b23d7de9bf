"""The two chunks of a script, the input of the second one, and what its answer means."""

import hashlib

import msgspec
import pytest

from controller.domain.decision import Reference
from controller.domain.decision.taken import NotTakenYet, RefusedByGateway, Taken, Verdict
from controller.domain.traffic.original.reports import (
    MAX_PACKED,
    packed_report,
    report_of,
    unpacked_report,
)
from controller.domain.traffic.plan.chunks import chunks_of
from controller.domain.traffic.plan.taken import LONGEST, in_words, taken_input, verdict_of
from controller.domain.traffic.tree import Tree
from controller.scripts.lookup import Script, complete
from controller.scripts.modules import Modules
from luaworker.packaged import hashes
from tests.unit.lua_configuration.cases import FOLDER, packaged

LIVE: Tree = {
    "metadata": {"name": "web", "generation": 4, "annotations": {"a": "b"}},
    "spec": {"x": 1},
    "status": {"state": "ok"},
}


@pytest.mark.parametrize("text", [b"", b"return obj", b"-- --@taken\nreturn obj", b"--@taken2\n"])
def test_a_text_without_the_line_is_its_first_chunk(text: bytes) -> None:
    assert chunks_of(text) == (text, b"")


def test_lines_of_the_second_chunk_keep_their_numbers() -> None:
    first, second = chunks_of(b"--@name X\nreturn 1\n--@taken\nlocal a\nreturn 2\n")
    assert first == b"--@name X\nreturn 1\n"
    assert second.splitlines().index(b"return 2") == 4


def test_a_script_says_in_its_header_that_it_has_a_second_chunk() -> None:
    plain = complete("X", b"return 1\n", "packaged", {}, Modules({}))
    both = complete("X", b"return 1\n--@taken\nreturn 2\n", "packaged", {}, Modules({}))
    assert isinstance(plain, Script)
    assert isinstance(both, Script)
    assert plain.header.taken == ""
    assert plain.sha256 == hashlib.sha256(plain.text).hexdigest()
    assert both.taken is not None
    assert both.header.taken == both.taken.sha256


def test_the_worker_knows_both_chunks_of_a_packaged_script() -> None:
    script = packaged(FOLDER / "projectcontour.io" / "HTTPProxy" / "trafficRouting.lua")
    assert script.taken is not None
    known = hashes().scripts
    assert {hashlib.sha256(text).digest() for text in (script.text, script.taken.text)} <= known


def test_the_input_has_the_status_and_what_was_written() -> None:
    reference = Reference("example.net/v1", "Gate", "web", "web", "web-canary")
    obj = msgspec.json.decode(taken_input(reference, "shop", LIVE, {"spec": {"y": 2}}, None))
    assert obj["status"] == {"state": "ok"}
    assert obj["generation"] == 4
    assert obj["written"] == {"spec": {"y": 2}}
    assert obj["data"] == {"spec": {"x": 1}, "metadata": {"name": "web"}}
    assert "before" not in obj
    bare = msgspec.json.decode(taken_input(reference, "shop", {"metadata": []}, {}, {"status": {}}))
    assert (bare["generation"], bare["status"], bare["before"]) == (0, {}, {"status": {}})


@pytest.mark.parametrize(
    ("answer", "verdict", "words"),
    [
        (b'{"taken":true}', Taken(), "G is taken by its gateway"),
        (b'{"wait":""}', NotTakenYet(), "G is not yet taken by its gateway"),
        (b'{"wait":"A"}', NotTakenYet("A"), "G is not yet taken by its gateway: A"),
        (b'{"refused":"a\\tb"}', RefusedByGateway("a b"), "G is refused by its gateway: a b"),
    ],
)
def test_an_answer_is_a_verdict(answer: bytes, verdict: Verdict, words: str) -> None:
    assert verdict_of(answer) == verdict
    assert in_words(verdict, "G") == words


@pytest.mark.parametrize(
    "answer", [b"true", b'"wait"', b'{"taken":true,"wait":"x"}', b'{"refused":" "}']
)
def test_every_other_answer_is_none(answer: bytes) -> None:
    assert verdict_of(answer) is None


def test_long_words_are_shortened() -> None:
    verdict = verdict_of(msgspec.json.encode({"refused": "x" * 5000}))
    assert isinstance(verdict, RefusedByGateway)
    assert len(verdict.words) == LONGEST + 2


def test_a_report_reads_as_it_was_written() -> None:
    assert unpacked_report(packed_report(LIVE)) == report_of(LIVE)
    assert packed_report({"metadata": {}}) == ""
    assert report_of({"status": {}}) == {"generation": 0, "status": {}}


@pytest.mark.parametrize("text", ["", "!", "AAAA", "eJw="])
def test_a_damaged_report_is_not_known(text: str) -> None:
    assert unpacked_report(text) is None


def test_a_long_report_is_not_kept() -> None:
    noise = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(MAX_PACKED // 20)]
    assert packed_report({**LIVE, "status": {"noise": [*noise]}}) == ""
