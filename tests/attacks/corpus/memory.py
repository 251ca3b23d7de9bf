"""Scripts that want all memory there is. They never get more than their limit."""

from luaworker.layers import Layer
from tests.attacks.attack import MEGABYTE, Attack, Bounds, broken

_STOPPED = ("MEMORY_LIMIT",)
_TIME = Bounds(cpu_ms=3_000)  # so that memory, not time, is what runs out


def _bomb(
    name: str, script: str, *, codes: tuple[str, ...] = _STOPPED, witness: bool = False
) -> Attack:
    return Attack(name, script, codes, Layer.LUA_MEMORY, bounds=_TIME, witness=witness)


ATTACKS = (
    _bomb("concatenation", "local s = 'x' while true do s = s .. s end"),
    _bomb("tables", "local t = {} while true do t[#t + 1] = {} end"),
    _bomb("texts", "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end"),
    _bomb("keys", "local t = {} for i = 1, math.huge do t['key' .. i] = i end"),
    _bomb("numbers", "local t = {} for i = 1, math.huge do t[i] = i end"),
    _bomb("closures", "local t = {} for i = 1, math.huge do t[i] = function() return i, t end end"),
    _bomb("replacement", "return {(('x'):rep(1e6)):gsub('.', ('y'):rep(100))}"),
    _bomb("replacement-by-function", "return {(('x'):rep(1e6)):gsub('.', function() return ('y'):rep(100) end)}"),
    _bomb("joined", "local t = {} for i = 1, 100 do t[i] = ('x'):rep(1e6) end return {table.concat(t)}"),
    _bomb("upper", "local t, s = {}, ('x'):rep(4e6) for i = 1, 99 do t[i] = (s .. i):upper() end return {}"),
    _bomb("reversed", "local t, s = {}, ('x'):rep(4e6) for i = 1, 99 do t[i] = (s .. i):reverse() end return {}"),
    _bomb("list", "local head for i = 1, math.huge do head = {head} end"),
    _bomb("chunk", "local t = {} for i = 1, 40 do t[i] = loadstring('return {' .. ('1.5' .. i .. ','):rep(1e5) .. '}') "
          "assert(t[i]) end return {}"),
    _bomb("decoded", "local t = {} for i = 1, 99 do t[i] = json.decode('[' .. ('[],'):rep(2e4) .. '0]') end return {}"),
    _bomb("insertion", "local t = {} while true do table.insert(t, {1, 2, 3, 4}) end"),
    _bomb("environments", "local t = {} for i = 1, math.huge do t[i] = setfenv(function() end, {}) end"),
    _bomb("metatables", "local t = {} for i = 1, math.huge do t[i] = setmetatable({}, {}) end"),
    _bomb("captured", "local t = {} for i = 1, math.huge do local a, b, c = {}, {}, {} "
          "t[i] = function() return a, b, c end end"),
    _bomb("weak-but-held", "local w, t = setmetatable({}, {__mode = 'k'}), {} "
          "for i = 1, math.huge do t[i] = {} w[t[i]] = t[i] end"),
    _bomb("caught-until-the-end", "local t = {} while true do pcall(function() "
          "while true do t[#t + 1] = ('x'):rep(1e6) .. #t end end) t[1] = nil error('full') end",
          codes=("MEMORY_LIMIT", "RUNTIME_ERROR")),
    _bomb("held-and-returned", "local t = {} for i = 1, 45 do t[i] = ('x'):rep(1e6) .. i end return {}",
          witness=True),
    Attack("object-beyond-the-limit", "return obj", _STOPPED, Layer.LUA_MEMORY, obj=b"[" + b"[],[]," * 130_000 + b"0]",
           bounds=Bounds(cpu_ms=5_000, memory_bytes=16 * MEGABYTE)),
    Attack("repetition", "return {('x'):rep(1e9)}", ("RUNTIME_ERROR",), Layer.BOUNDS, says="larger than", line=1),
    Attack("repetition-of-nothing", "return {#(''):rep(2^31 - 1)}", ("OK",), Layer.BOUNDS, result=b"[0]",
           witness=True),
    Attack("format-width", "return {('%999d'):format(1)}", ("RUNTIME_ERROR",), Layer.PROTECTED_CALL,
           says="invalid format"),
    Attack("process-memory", "local t = {} for i = 1, 120 do t[i] = ('x'):rep(1e6) .. i end return {}", _STOPPED,
           Layer.ADDRESS_SPACE, without=broken(Layer.LUA_MEMORY), bounds=_TIME, witness=True),
    Attack("process-memory-by-doubling", "local s = 'x' while true do s = s .. s end", _STOPPED, Layer.ADDRESS_SPACE,
           without=broken(Layer.LUA_MEMORY), bounds=_TIME),
    Attack("log", "for i = 1, 1e4 do print(('x'):rep(1000)) end return {}", ("OK",), Layer.BOUNDS, result=b"{}"),
)  # fmt: skip
