"""Inputs that break, or once broke, the engine. A wrapper catches some; for the rest there is the process."""

from luaworker.layers import Layer
from tests.attacks.attack import Attack, Bounds

_ERROR = ("RUNTIME_ERROR",)
_SYNTAX = ("SYNTAX_ERROR",)
_LONG = Bounds(cpu_ms=1_000)
_PARAMETERS = ",".join(f"a{i}" for i in range(150))


def _checked(name: str, script: str, says: str = "", *, witness: bool = False) -> Attack:
    """The engine would crash; the check before it does not let it come to that."""
    return Attack(name, script, _ERROR, Layer.BOUNDS, says=says, witness=witness)


def _caught(name: str, script: str, says: str = "", *, codes: tuple[str, ...] = _ERROR) -> Attack:
    """The engine itself says no; that has to become an answer."""
    return Attack(name, script, codes, Layer.PROTECTED_CALL, says=says, bounds=_LONG)


ATTACKS = (
    _checked("cve-2025-46817", "return {unpack({}, 0, 2147483647)}", "too many results", witness=True),
    _checked("cve-2025-46817-negative", "return {unpack({}, -2147483648, 2147483647)}", "too many results"),
    _checked("cve-2025-46817-fraction", "return {unpack({}, 0.5, 2147483647.5)}", "too many results"),
    _checked("cve-2025-46817-text", "return {unpack({}, '0', '2147483647')}", "too many results"),
    _checked("cve-2025-46817-far", "return {unpack({}, 1e300, 1e308)}"),
    _checked("cve-2025-46817-not-a-number", "return {unpack({1, 2}, 0/0, 2147483647)}", "index is NaN"),
    _checked("unpack-too-much", "return {unpack({}, 1, 1e7)}", "too many results"),
    _checked("pattern-depth", "return {('a'):rep(2e5):find(('a?'):rep(2e5))}", "longer than 2048"),
    _checked("pattern-depth-match", "return {('a'):rep(2e5):match(('a?'):rep(2e5))}", "longer than 2048"),
    _checked("pattern-depth-gsub", "return {('a'):rep(2e5):gsub(('a?'):rep(2e5), '')}", "longer than 2048"),
    _checked("pattern-depth-gmatch", "for _ in ('a'):rep(2e5):gmatch(('a?'):rep(2e5)) do end return {}", "longer"),
    _checked("damaged-bytecode", "return {loadstring('\\27Lua\\81\\0\\1\\4\\8\\4\\8\\0' .. ('\\255'):rep(99))()}"),
    Attack("cve-2014-5461", f"local function g({_PARAMETERS}, ...) end for i = 1, 1000 do g() end return {{}}",
           ("CRASHED", "SANDBOX_VIOLATION", "OK"), Layer.SINGLE_USE),
    Attack("cve-2014-5461-nested",
           f"local function g({_PARAMETERS}, ...) return ... end local t = {{}} "
           "for i = 1, 200 do t[i] = {g()} loadstring('return 1')() end return {}",
           ("CRASHED", "SANDBOX_VIOLATION", "OK", "MEMORY_LIMIT", "RUNTIME_ERROR"), Layer.SINGLE_USE),
    _caught("recursion", "local function f() return 1 + f() end f()", "stack overflow"),
    _caught("recursion-in-pcall", "local function f() local ok, e = pcall(f) error(e, 0) end f()",
            codes=("RUNTIME_ERROR", "TIMEOUT")),
    _caught("recursion-in-sort", "local function f() table.sort({2, 1}, f) end f()", "overflow"),
    _caught("recursion-in-replacement", "local function f() return (('x'):gsub('.', f)) end f()", "overflow"),
    _caught("recursion-in-tostring",
            "local t = {} setmetatable(t, {__tostring = function(x) return tostring(x) end}) return {tostring(t)}",
            "overflow"),
    _caught("recursion-in-index",
            "local t = setmetatable({}, {__index = function(t, k) return t[k] end}) return {t.x}", "overflow"),
    _caught("recursion-in-loadstring", "local function f() loadstring('return ...')(f()) end f()", "overflow"),
    _caught("index-chain", "local t = {} for i = 1, 1000 do t = setmetatable({}, {__index = t}) end return {t.x.y}",
            "loop"),
    _caught("index-loop", "local t = {} setmetatable(t, {__index = t}) return {t.x.y}", "loop"),
    Attack("parentheses", "return " + "(" * 500 + "1" + ")" * 500, _SYNTAX, Layer.PROTECTED_CALL, says="levels"),
    Attack("functions", "return " + "function() return " * 300 + "1" + " end" * 300, _SYNTAX, Layer.PROTECTED_CALL),
    Attack("tables", "return " + "{" * 300 + "}" * 300, _SYNTAX, Layer.PROTECTED_CALL, says="levels"),
    Attack("locals", "".join(f"local a{i} = {i}\n" for i in range(300)) + "return {}", _SYNTAX, Layer.PROTECTED_CALL,
           says="local variables"),
    Attack("upvalues", "".join(f"local a{i}, b{i} = 1, 2\n" for i in range(90)) + "return function() return {"
           + ",".join(f"a{i},b{i}" for i in range(90)) + "} end", _SYNTAX, Layer.PROTECTED_CALL, says="upvalues"),
    Attack("constants", "return {" + ",".join(f"k{i}={i}" for i in range(20_000)) + ",f=print}", ("BAD_RESULT",),
           Layer.RESULT_CHECKS, bounds=_LONG),
    Attack("long-concatenation", "local a = 'x' return {" + "..".join(["a"] * 400) + "}", (*_SYNTAX, "OK"),
           Layer.PROTECTED_CALL),
    _caught("bytes-range", "return {(('x'):rep(1e6)):byte(1, -1)}", "string slice too long"),
    _caught("select-range", "return {select(-2^31, 1)}", "out of range"),
    _caught("character-range", "return {string.char(-1)}", "invalid value"),
    _caught("concat-range", "return {table.concat({}, '', 1, 2^31)}", codes=("OK", "RUNTIME_ERROR")),
    _caught("bad-comparator", "local t = {} for i = 1, 500 do t[i] = i % 7 end "
            "table.sort(t, function() return true end) error('sorted')"),
    _caught("random-range", "return {math.random(0)}", "interval is empty"),
    _caught("error-in-error-handling", "xpcall(error, function() error('again') end) error('end')"),
    _caught("setfenv-of-the-engine", "setfenv(next, {}) return {}"),
    _caught("table-nan", "local t = {} t[0/0] = 1 return {}", "NaN"),
)  # fmt: skip
