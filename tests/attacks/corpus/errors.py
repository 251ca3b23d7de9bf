"""Errors made to confuse, to flood or to fool their reader, and error objects that are no errors."""

from luaworker.layers import Layer
from tests.attacks.attack import Attack, Bounds

_ERROR = ("RUNTIME_ERROR",)


def _error(
    name: str,
    script: str | bytes,
    says: str = "",
    *,
    codes: tuple[str, ...] = _ERROR,
    line: int = 0,
    witness: bool = False,
) -> Attack:
    return Attack(name, script, codes, Layer.PROTECTED_CALL, says=says, line=line, witness=witness)


def _input(name: str, obj: bytes, *, codes: tuple[str, ...] = ("BAD_INPUT",)) -> Attack:
    return Attack(
        name, "return obj", codes, Layer.PROTECTED_CALL, obj=obj, bounds=Bounds(cpu_ms=2_000)
    )


_SYNTAX = ("SYNTAX_ERROR",)

ATTACKS = (
    _error("text", "error('plain')", "attack:1: plain", line=1, witness=True),
    _error("table", "error({code = 0})", "error object is a table value", witness=True),
    _error("nothing", "error()", "error object is a nil value"),
    _error("function", "error(print)", "error object is a function value"),
    _error("truth", "error(false)", "error object is a boolean value"),
    _error("null", "error(json.null)", "error object is a userdata value"),
    _error("object-with-text",
           "error(setmetatable({}, {__tostring = function() while true do end end}))", "error object is a table"),
    _error("object-with-concat", "error(setmetatable({}, {__concat = error, __index = error}))", "error object is"),
    _error("flood", "error(('x'):rep(1e6))", "xxxx"),
    _error("not-text", "error('\\255\\0\\254', 0)"),
    _error("control-characters", "error('a\\r\\n\\27[2J', 0)", "a\r\n"),
    _error("false-line", "error('script:99: I did not do it', 0)", "I did not do it", line=1),
    _error("false-line-of-ours", "error('attack:4294967296: huge', 0)", "huge"),
    _error("false-line-beyond-all-numbers", "error('attack:' .. ('9'):rep(400) .. ': huge', 0)", "huge"),
    _error("false-file-of-ours", "error('sandbox:1: fake', 0)", "fake"),
    _error("false-memory-error", "error('not enough memory', 0)", "not enough memory"),
    _error("false-timeout", "error('attack:1: CPU limit of 100 ms exceeded', 0)", "CPU limit"),
    _error("stack-overflow-with-long-names",
           "local function " + "f" * 200 + "() return 1 + " + "f" * 200 + "() end " + "f" * 200 + "()", "overflow"),
    _error("caught-and-thrown", "local ok, e = pcall(error, {}) error(e)", "error object is a table value"),
    _error("handler-that-fails", "local ok, e = xpcall(error, function() error('deep') end) error('end')", "end"),
    _error("index-nothing", "local x\nreturn {x.y}", "attempt to index local 'x'", line=2),
    _error("call-nothing", "\n\nnothing()", "attempt to call global 'nothing'", line=3),
    _error("arithmetic", "return {1 + {}}", "arithmetic", line=1),
    _error("comparison", "return {1 < 'x'}", "compare", line=1),
    _error("concatenation", "return {'x' .. {}}", "concatenate", line=1),
    _error("assertion", "assert(false, 'no')", "no"),
    _error("assertion-of-a-table", "assert(false, {})", "bad argument #2 to 'assert'"),
    _error("level", "local function f() error('caller', 2) end\nf()", "attack:2: caller", line=2),
    _error("level-above-the-script", "\nerror('blamed', 2)", "attack:2: blamed", line=2),
    _error("level-of-the-runner", "\nlocal function f() error('blamed', 3) end f()", "attack:2: blamed", line=2),
    _error("empty-text", "\nerror('', 0)", "error object is an empty string", line=2),
    _error("mark-on-no-table", "\njson.array(0/0) return {}", "attack:2: bad argument #1 to 'array'", line=2),
    _error("level-too-high", "error('far', 100)", "far"),
    _error("in-a-loaded-chunk", "loadstring('error(\"inner\")', '=inner')()", "inner:1: inner"),
    _error("false-chunk-name", "loadstring('\\n\\n\\nerror(\"x\")', '=attack')()", "attack:4: x", line=4),
    _error("syntax", "return {", codes=_SYNTAX, line=1),
    _error("syntax-far-down", "\n" * 5000 + "x x", codes=_SYNTAX, line=5001),
    _error("unfinished-text", "return {'", codes=_SYNTAX, line=1),
    _error("unfinished-comment", "--[[", codes=_SYNTAX),
    _error("zero-byte", b"return {}\0 garbage garbage", codes=(*_SYNTAX, "OK")),
    _error("not-lua", bytes(range(128, 256)), codes=_SYNTAX),
    _error("byte-order-mark", b"\xef\xbb\xbfreturn {}", codes=(*_SYNTAX, "OK")),
    _error("another-lua", "goto x ::x:: return {1 // 2}", codes=_SYNTAX),
    _input("no-object", b""),
    _input("half-an-object", b'{"a":'),
    _input("object-too-deep", b"[" * 5000 + b"]" * 5000),
    _input("object-unbalanced", b"[" * 100_000),
    _input("object-with-bytes", b'{"a":"\xff"}'),
    _input("object-with-bytes-for-a-key", b'{"\xff":1}'),
    _input("object-with-a-surrogate", b'{"a":"\xed\xa0\x80"}'),
    _input("object-with-an-overlong-zero", b'{"a":"\xc0\x80"}'),
    _input("object-too-large-a-number", b'{"a":1e999}'),
    _input("object-and-more", b"{} {}"),
    _input("object-with-half-a-pair", rb'{"a":"\ud800"}', codes=("OK",)),
)  # fmt: skip
