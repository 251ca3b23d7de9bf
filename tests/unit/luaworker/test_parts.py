"""The small pure parts: frames, outcomes of ends, the memory of scripts, addresses, limits."""

import hashlib
import io
import logging
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import grpc
import grpc.aio
import pytest

from luaworker import httpd, logs, packaged, service, wire
from luaworker.__main__ import main
from luaworker.call_outcome import of_exit, of_reply
from luaworker.codes import Code
from luaworker.errors import BrokenChild
from luaworker.fingerprint import fingerprint
from luaworker.layers import Layer, packed, unpacked
from luaworker.sandbox import CompiledFiles
from luaworker.script_cache import Breaker, ScriptCache, program_digest
from luaworker.settings import MEGABYTE, Settings
from luaworker.wire import Call, Exit, Garbled, Limits, Module, Reply, Task
from protos.luaworker.v1 import luaworker_pb2 as pb

LIMITS = Limits(100, 200, 8 * MEGABYTE, 1000)


def test_a_call_survives_the_wire() -> None:
    modules = (Module(b"inner", b"return {}", True), Module(b"outer", b"return {a = 1}"))
    call = Call(Task.EXECUTE, LIMITS, b"name", b"return {}", b'{"a":1}', True, modules)
    texts = (call.script, call.object_json, *(module.text for module in modules))
    assert call.size == sum(map(len, texts))
    data = wire.pack_call(call)

    def read(size: int) -> bytes:
        nonlocal data
        piece, data = data[:size], data[size:]
        return piece

    assert wire.read_call(read) == call
    assert data == b""


def test_modules_of_our_library_travel_without_their_texts_to_a_child_that_knows_them() -> None:
    ours, other = Module(b"ours", b"return {}", ours=True), Module(b"other", b"return {a = 1}")
    call = Call(Task.EXECUTE, LIMITS, b"name", b"return {}", b"{}", modules=(ours, other))
    brief, whole = wire.pack_call(call, knows_library=True), wire.pack_call(call)
    assert ours.text not in brief.replace(call.script, b"", 1)
    assert wire.read_call(io.BytesIO(brief).read).modules == (ours._replace(text=b""), other)
    assert wire.read_call(io.BytesIO(whole).read).modules == (ours._replace(ours=False), other)


def test_two_libraries_that_differ_have_different_fingerprints() -> None:
    one = {(b"a", b"1"), (b"b", b"2")}
    others = [set(), {(b"a", b"1")}, {(b"a", b"2"), (b"b", b"1")}, {(b"a", b"1b"), (b"", b"2")}]
    marks = {fingerprint(library) for library in (one, *others)}
    assert len(marks) == 1 + len(others)
    assert fingerprint(sorted(one, reverse=True)) == fingerprint(one)
    assert 0 not in marks


def test_a_module_of_ours_has_the_hash_that_any_text_has() -> None:
    ours = packaged.hashes()
    assert ours.texts
    for name, text in ours.texts.items():
        assert ours.digest(name, text) == hashlib.sha256(text).digest()
        assert ours.digest(name, text + b" ") == hashlib.sha256(text + b" ").digest()
        assert ours.has(name, ours.digest(name, text))
        assert not ours.has(name, ours.digest(name, text + b" "))


def test_server_and_zygote_find_the_same_library() -> None:
    assert packaged.hashes().library == CompiledFiles().fingerprint


def test_a_reply_survives_the_wire_with_its_texts_cut() -> None:
    reply = Reply(0, 3, 4, 5, b"{}", b"m" * 9999, b"t", b"$.a", b"log")
    data = wire.pack_reply(reply)
    header = wire.parse_reply_header(data[: wire.REPLY_HEADER], 1000)
    found = wire.parse_reply_body(header, data[wire.REPLY_HEADER :])
    assert found == Reply(0, 3, 4, 5, b"{}", b"m" * wire.MESSAGE_BYTES, b"t", b"$.a", b"log")


def test_a_reply_that_announces_too_much_is_not_read() -> None:
    data = wire.pack_reply(Reply(0, 0, 0, 0, b"x" * 1001, b"", b"", b"", b""))
    with pytest.raises(Garbled):
        wire.parse_reply_header(data[: wire.REPLY_HEADER], 1000)
    with pytest.raises(Garbled):
        wire.parse_reply_header(b"?" * wire.REPLY_HEADER, 1000)


def test_text_of_a_reply_is_mended_and_results_of_failures_dropped() -> None:
    outcome = of_reply(Reply(2, 1, 1500, 9, b"{}", b"\xffoops", b"", b"", b"a\0b"), LIMITS)
    assert (outcome.code, outcome.result) == (Code.RUNTIME_ERROR, b"")
    assert (outcome.message, outcome.log, outcome.cpu_ms) == ("\ufffdoops", ("a", "b"), 1.5)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGPROF, Code.TIMEOUT),
        (signal.SIGXCPU, Code.TIMEOUT),
        (signal.SIGALRM, Code.TIMEOUT),
        (signal.SIGSYS, Code.SANDBOX_VIOLATION),
        (signal.SIGSEGV, Code.CRASHED),
        (signal.SIGABRT, Code.CRASHED),
    ],
)
def test_a_signal_is_an_outcome(number: signal.Signals, code: Code) -> None:
    assert of_exit(Exit(1, number, 0, 0, 0), LIMITS, "s", "").code is code


def test_an_end_without_a_signal_is_memory_or_ours() -> None:
    assert of_exit(Exit(1, 1 << 8, 0, 0, 0), LIMITS, "s", "").code is Code.MEMORY_LIMIT
    with pytest.raises(BrokenChild, match="worker's own code"):
        of_exit(Exit(1, wire.FAILED << 8, 0, 0, 0), LIMITS, "s", "")


@pytest.mark.parametrize(("why", "code"), [("wall", Code.TIMEOUT), ("garbled", Code.CRASHED)])
def test_a_kill_of_ours_is_an_outcome(why: str, code: Code) -> None:
    assert of_exit(Exit(1, signal.SIGKILL, 0, 0, 0), LIMITS, "s", why).code is code


def test_a_kill_of_a_stranger_says_nothing_about_the_script() -> None:
    with pytest.raises(BrokenChild, match="from outside"):
        of_exit(Exit(1, signal.SIGKILL, 0, 0, 0), LIMITS, "s", "")


def test_the_cache_forgets_the_least_used_entry() -> None:
    cache = ScriptCache(capacity=2 * (256 + 5))
    first, second = cache.keep(b"11111"), cache.keep(b"22222")
    assert cache.text(first) == b"11111"
    cache.keep(b"333")
    assert (cache.text(first), cache.text(second)) == (b"11111", None)
    assert first == hashlib.sha256(b"11111").digest()


def test_tiny_texts_take_room_as_well() -> None:
    cache = ScriptCache(capacity=10_000)
    digests = [cache.keep(b"%d" % number) for number in range(1000)]
    assert sum(cache.text(digest) is not None for digest in digests) < 40


def test_three_costly_failures_in_a_row_open_the_circuit_for_a_while() -> None:
    breaker = Breaker()
    for now in (0.0, 1.0, 2.0):
        assert breaker.refusal("t", b"h", now) == ""
        breaker.note("t", b"h", Code.TIMEOUT, "slow", now)
    assert "failed 3 times in a row, last with: TIMEOUT slow" in breaker.refusal("t", b"h", 3.0)
    assert breaker.open(3.0) == 1
    assert breaker.open(32.1) == 0
    assert breaker.refusal("t", b"other", 3.0) == ""
    assert breaker.refusal("another tenant", b"h", 3.0) == ""
    assert breaker.refusal("t", b"h", 32.1) == ""
    breaker.note("t", b"h", Code.CRASHED, "again", 33.0)
    assert breaker.refusal("t", b"h", 34.0)
    breaker.note("t", b"h", Code.RUNTIME_ERROR, "cheap", 64.0)
    breaker.note("t", b"h", Code.TIMEOUT, "slow", 65.0)
    assert breaker.refusal("t", b"h", 66.0) == ""


@pytest.mark.parametrize(
    ("address", "expected"),
    [(":8080", ("", 8080)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:1", ("::1", 1)), ("0", None), ("", None)],
)  # fmt: skip
def test_addresses(address: str, expected: tuple[str, int] | None) -> None:
    assert httpd.parse_address(address) == expected


def test_limits_are_clamped() -> None:
    settings = Settings(listen="", cpu_ms=300)
    assert settings.limits == Limits(300, 1000, 64 * MEGABYTE, 4 * MEGABYTE)
    greedy = settings.clamp(Limits(10**6, 10**6, 10**12, 10**9))
    assert greedy == Limits(5000, 10_000, 256 * MEGABYTE, 8 * MEGABYTE)
    assert settings.clamp(Limits(1, 1, 1, 1)) == Limits(20, 20, 16 * MEGABYTE, 1024)


def test_packaged_scripts_are_known_by_their_hashes(tmp_path: Path) -> None:
    assert len(packaged.hashes().scripts) >= 2
    nothing = packaged.hashes(tmp_path / "absent")
    assert (nothing.scripts, nothing.modules) == (frozenset(), {})


def test_a_script_is_trusted_only_with_modules_that_are_ours() -> None:
    known = packaged.hashes()
    script = next(iter(known.scripts))
    text = (packaged.FOLDER / "library" / "tables.lua").read_bytes()

    def module(name: bytes, text: bytes) -> Module:
        return Module(name, text, digest=hashlib.sha256(text).digest())

    ours = module(b"tables", text)
    assert known.trusts(script, ())
    assert known.trusts(script, (ours,))
    assert not known.trusts(hashlib.sha256(b"a user's").digest(), (ours,))
    assert not known.trusts(script, (ours, module(b"tables", text + b" ")))
    assert not known.trusts(script, (module(b"weights", text),))
    assert hashlib.sha256(text).digest() not in known.scripts


def test_a_script_has_another_hash_with_every_other_set_of_modules() -> None:
    one, other = Module(b"a", b"return {}", digest=b"1" * 32), Module(b"b", b"", digest=b"1" * 32)
    changed = (one._replace(hidden=True), one._replace(digest=b"2" * 32))
    sets = [(), (one,), (other,), (one, other), (other, one), *((module,) for module in changed)]
    own = hashlib.sha256(b"script").digest()
    assert len({program_digest(own, modules) for modules in sets}) == len(sets)
    assert program_digest(own, ()) == own


def test_layers_survive_the_command_line_of_the_zygote() -> None:
    layers = frozenset({Layer.SECCOMP, Layer.WALL_TIMER})
    assert unpacked(packed(layers)) == layers
    assert unpacked(packed(frozenset())) == frozenset()


def test_production_has_no_lock_open() -> None:
    assert Settings(listen="").without == frozenset()


def test_a_log_line_is_json_with_its_extras() -> None:
    record = logging.LogRecord("n", logging.INFO, "", 0, "did %s", ("it",), None)
    record.port = 1
    line = logs.JsonFormatter().format(record)
    assert line.startswith('{"ts": "')
    assert '"msg": "did it", "port": 1}' in line


class Countless(Sequence[pb.Module]):
    """Modules that take long to visit."""

    def __len__(self) -> int:
        return 4_000_000

    def __getitem__(self, _: object) -> Any:
        raise AssertionError("one of millions was visited")


class Refusing:
    """A context that keeps the reason of a refusal."""

    def __init__(self) -> None:
        self.details = ""

    def time_remaining(self) -> None:
        return None

    def invocation_metadata(self) -> None:
        return None

    async def abort(self, code: grpc.StatusCode, details: str = "") -> NoReturn:
        self.details = details
        raise grpc.aio.AbortError


async def test_millions_of_empty_modules_are_refused_unvisited() -> None:
    context = Refusing()
    with pytest.raises(grpc.aio.AbortError):
        await service._check_modules(Countless(), context)
    assert "4000000 modules with 0 bytes are more than the 32" in context.details


@pytest.mark.parametrize("flag", ["--concurrency=-1", "--concurrency=x"])
def test_a_number_of_scripts_that_would_be_no_limit_is_refused(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--listen=unix:///nowhere/w", flag])
    assert "--concurrency" in capsys.readouterr().err
