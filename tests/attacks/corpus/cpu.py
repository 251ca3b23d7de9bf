"""Scripts that never end, in the engine's own loop or in calls that no hook interrupts."""

from luaworker.layers import Layer
from tests.attacks.attack import Attack, Bounds, broken

_STOPPED = ("TIMEOUT",)


def _loop(name: str, script: str, *, line: int = 1, witness: bool = False) -> Attack:
    """Stopped politely, with a line."""
    return Attack(
        name,
        script,
        _STOPPED,
        Layer.COUNT_HOOK,
        says="CPU limit of 100 ms",
        line=line,
        witness=witness,
    )


def _deaf(name: str, script: str, *, witness: bool = False) -> Attack:
    """Inside a library call, which the hook does not interrupt."""
    return Attack(
        name, script, _STOPPED, Layer.CPU_TIMER, says="CPU limit of 100 ms", witness=witness
    )


_SLOW_PATTERN = "return {(('a'):rep(30000)):find('.-.-.-.-b')}"
_ON_THE_WALL = Bounds(cpu_ms=5_000, wall_ms=100)
_NO_TIMER = broken(Layer.COUNT_HOOK, Layer.CPU_TIMER)

ATTACKS = (
    _loop("while", "while true do end", witness=True),
    _loop("for", "for i = 1, math.huge do end"),
    _loop("repeat", "\nrepeat until false", line=2),
    _loop("recursion", "local function f(n) if n > 0 then f(n - 1) f(n - 1) end end f(1000)"),
    _loop("tail-calls", "local function f() return f() end f()"),
    _loop("caught", "while true do pcall(function() while true do end end) end"),
    # At the bottom of the C stack the hook itself finds no room: then the timer has to do it, and names no line.
    _loop("caught-in-a-chain", "local function f() pcall(f) f() end pcall(f) while true do pcall(f) end", line=0),
    _loop("caught-and-handled", "while true do xpcall(function() while true do end end, function() end) end"),
    _loop("comparator", "table.sort({1, 2, 3}, function() while true do end end)"),
    _loop("replacement", "('x'):gsub('.', function() while true do end end)"),
    _loop("each", "table.foreach({1}, function() while true do end end)"),
    _loop("index", "setmetatable(_G, {__index = function() while true do end end}) x()"),
    _loop("new-index", "setmetatable(_G, {__newindex = function() while true do end end}) x = 1"),
    _loop("equality", "local m = {__eq = function() while true do end end} "
          "return {setmetatable({}, m) == setmetatable({}, m)}"),
    _loop("order", "local m = {__lt = function() while true do end end} "
          "return {setmetatable({}, m) < setmetatable({}, m)}"),
    _loop("concatenation", "return {setmetatable({}, {__concat = function() while true do end end}) .. 'x'}"),
    _loop("call", "setmetatable({}, {__call = function() while true do end end})()"),
    _loop("text", "print(setmetatable({}, {__tostring = function() while true do end end}))"),
    _loop("loaded", "while true do loadstring('return 1')() end"),
    _loop("loaded-loop", "local f = loadstring('while true do end', '=script') f()"),
    _loop("reader", "load(function() while true do end end)"),
    _loop("iterator", "for _ in function() return 1 end do end"),
    _loop("sorted-pairs", "local t = {} for i = 1, 100 do t[i] = i end while true do for _ in pairs(t) do end end"),
    _loop("encoder", "local t = {} for i = 1, 200 do t[i] = i / 3 end while true do json.encode(t) end"),
    _loop("decoder", "local s = '[' .. ('1.5,'):rep(200) .. '1]' while true do json.decode(s) end"),
    _loop("collector", "while true do local t = {} for i = 1, 100 do t[i] = {} end end"),
    _loop("own-hook-name", "local sethook = nil while true do local a = 1 end"),
    Attack("while-encoding", "local t = {} for i = 1, 400 do t[i] = {} for j = 1, 400 do t[i][j] = i / j end end "
           "return t", _STOPPED, Layer.COUNT_HOOK, says="while writing the result",
           bounds=Bounds(cpu_ms=60)),
    Attack("while-decoding", "return {}", _STOPPED, Layer.COUNT_HOOK, says="while reading the object",
           obj=b"[" + b"1.25e1," * 150_000 + b"1]", bounds=Bounds(cpu_ms=40)),
    _deaf("pattern", _SLOW_PATTERN, witness=True),
    _deaf("pattern-of-options", "return {(('a'):rep(28)):find(('a-'):rep(28) .. 'b')}"),
    _deaf("pattern-of-stars", "return {(('a'):rep(20000)):match('.*.*.*.*x')}"),
    _deaf("pattern-replacing", "return {(('a'):rep(20000)):gsub('.-.-.-b', '')}"),
    _deaf("pattern-walking", "for _ in (('a'):rep(30000)):gmatch('.-.-.-.-b') do end return {}"),
    _deaf("pattern-balanced", "return {(('('):rep(300000)):find('%b()')}"),
    _deaf("handler", "xpcall(error, function() while true do end end) return {}"),
    _deaf("handler-of-a-loop", "xpcall(function() while true do end end, function() while true do end end) return {}"),
    _deaf("insertion", "table.insert({}, -2^31 + 1, 1) return {}"),
    _deaf("parser", "if x then " + "elseif b then " * 40_000 + " end"),
    Attack("on-the-wall", _SLOW_PATTERN, _STOPPED, Layer.WALL_TIMER, says="time limit of 100 ms exceeded",
           bounds=_ON_THE_WALL),
    Attack("on-the-wall-in-a-loop", "while true do end", _STOPPED, Layer.WALL_TIMER,
           says="time limit of 100 ms exceeded", bounds=_ON_THE_WALL),
    # The watchdog's message is longer than the timer's, so that a test can tell which of the two stopped the script.
    Attack("timer-of-the-wall", _SLOW_PATTERN + " --", _STOPPED, Layer.WALL_TIMER,
           ends="time limit of 100 ms exceeded", bounds=_ON_THE_WALL, witness=True),
    Attack("watchdog", _SLOW_PATTERN, _STOPPED, Layer.WATCHDOG, without=broken(Layer.WALL_TIMER),
           says="its own timer did not fire", bounds=Bounds(cpu_ms=1_000, wall_ms=100), witness=True),
    Attack("seconds-of-cpu", "while true do end", _STOPPED, Layer.CPU_RLIMIT, without=_NO_TIMER,
           says="CPU limit of 100 ms exceeded", bounds=Bounds(cpu_ms=100, wall_ms=120_000), witness=True),
    Attack("again-and-again", "while true do local breaker = 1 end", ("CIRCUIT_OPEN",), Layer.BREAKER, times=4,
           says="not run: it failed 3 times", witness=True),
    Attack("flood", "while true do local flood = 1 end", ("TIMEOUT", "RESOURCE_EXHAUSTED", "CIRCUIT_OPEN"),
           Layer.TENANT_SHARE, at_once=9, bounds=Bounds(cpu_ms=3_000, wall_ms=6_000), witness=True),
)  # fmt: skip
