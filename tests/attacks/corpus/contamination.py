"""Traces that a script tries to leave for the next one. All of them succeed, in a process that ends with them."""

from luaworker.layers import Layer
from tests.attacks.attack import Attack


def _trace(
    name: str, script: str, *, codes: tuple[str, ...] = ("OK",), witness: bool = True
) -> Attack:
    return Attack(name, script, codes, Layer.SINGLE_USE, witness=witness)


_LIBRARY = (
    ("inner", "return {say = function() return 'good' end}"),
    ("lib", "return {ask = function() return inner.say() end, list = {1, 2}}"),
)


def _library_trace(name: str, script: str) -> Attack:
    """First the library's output for a script that has not changed anything, then the attempt to change it."""
    song = (
        "if lib.ask() ~= 'good' or #lib.list ~= 2 or lib.evil then return {lib.ask(), 'evil'} end "
    )
    return Attack(
        f"library-{name}", f"{song} {script} return {{}}", ("OK",), Layer.SINGLE_USE,
        result=b"{}", times=3, modules=_LIBRARY,
    )  # fmt: skip


ATTACKS = (
    _trace("global", "leaked = 'secret' return {}"),
    _trace("global-in-the-real-table", "rawset(getfenv(0), 'leaked', 1) return {}"),
    _trace("global-by-loadstring", "loadstring('leaked = 1')() return {}"),
    _trace("global-then-error", "leaked = 1 error('x')", codes=("RUNTIME_ERROR",)),
    _trace("global-then-bad-result", "leaked = 1 return {print}", codes=("BAD_RESULT",)),
    _trace("string-library", "string.rep = nil return {}"),
    _trace("string-method", "string.upper = function() return 'evil' end return {}"),
    _trace("table-library", "table.insert = function() end return {}"),
    _trace("table-emptied", "for k in next, table do table[k] = nil end return {}"),
    _trace("math-library", "math.floor = function() return 7 end return {}"),
    _trace("json-library", "json.encode = function() return 'evil' end return {}"),
    _trace("pairs", "pairs = function() return next, {}, nil end return {}"),
    _trace("tostring", "tostring = function() return 'evil' end return {}"),
    _trace("metatable-of-the-globals", "setmetatable(_G, {__index = function() return 'evil' end}) return {}"),
    _trace("locked-globals",
           "setmetatable(_G, {__newindex = function() error('locked') end, __metatable = 1}) return {}"),
    _trace("environment-of-the-thread", "setfenv(0, {}) return {}"),
    _trace("environment-of-a-library-function", "setfenv(pairs, {}) leaked = 1 return {}"),
    _trace("all-globals-removed", "local G, next = _G, next for k in next, G do G[k] = nil end return {}"),
    _trace("log", "print('secret') return {}"),
    _trace("names-of-tables", "for i = 1, 50 do tostring({}) end return {}"),
    _trace("random-numbers", "math.randomseed(42) math.random() return {}", witness=False),
    _trace("json-null", "json.null = 'evil' return {}"),
    _trace("version", "_VERSION = 'evil' return {}"),
    _trace("object", "obj.canary = 'poisoned' obj = nil return {}", witness=False),
    _library_trace("set", "pcall(function() lib.ask = function() return 'evil' end end)"),
    _library_trace("rawset", "rawset(lib, 'evil', 1) rawset(lib, 'ask', function() return 'evil' end)"),
    _library_trace("inner-table", "table.insert(lib.list, 'evil')"),
    _library_trace("environment-of-a-function", "setfenv(lib.ask, {inner = {say = function() return 'evil' end}})"),
    _library_trace("environment-that-modules-share",
                   "getfenv(lib.ask).inner.say = function() return 'evil' end"),
    _library_trace("global", "lib = {ask = function() return 'evil' end, list = {}, evil = 1}"),
    _library_trace("hidden-module", "inner = {say = function() return 'evil' end}"),
    _trace("failure-remembered", "pcall(error, 'x') error('remember me')", codes=("RUNTIME_ERROR",)),
)  # fmt: skip
