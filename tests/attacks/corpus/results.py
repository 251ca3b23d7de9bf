"""Results that JSON cannot express, that lie about their size, or that try to run code while they are written."""

from luaworker.layers import Layer
from tests.attacks.attack import MEGABYTE, Attack, Bounds, broken

_REFUSED = ("BAD_RESULT",)


def _bad(name: str, script: str, says: str = "", *, witness: bool = False) -> Attack:
    return Attack(
        name,
        script,
        _REFUSED,
        Layer.RESULT_CHECKS,
        says=says,
        witness=witness,
        bounds=Bounds(cpu_ms=2_000),
    )


ATTACKS = (
    _bad("nothing", "", "not nil"),
    _bad("number", "return 1", "not number"),
    _bad("text", "return '{}'", "not string"),
    _bad("truth", "return true", "not boolean"),
    _bad("function", "return print", "not function"),
    _bad("null", "return json.null", "not userdata"),
    _bad("last-of-several", "return {}, 1", "not number"),
    _bad("function-inside", "return {run = print}", "function", witness=True),
    _bad("not-a-number", "return {0/0}", "NaN", witness=True),
    _bad("infinity", "return {1/0}", "infinity"),
    _bad("negative-infinity", "return {a = {-1/0}}", "infinity"),
    _bad("cycle", "local t = {} t.t = t return t", "contains itself"),
    _bad("long-cycle", "local a, b, c = {}, {}, {} a.b, b.c, c.a = b, c, a return a", "contains itself"),
    _bad("depth", "local t = {} local top = t for i = 1, 5000 do t[1] = {} t = t[1] end return top", "deeper than"),
    _bad("hole", "return {1, nil, 3}", "sparse"),
    _bad("far-index", "return {[2^53] = 1}", "sparse"),
    _bad("from-zero", "return {[0] = 1}", "index 0"),
    _bad("negative-index", "return {[-1] = 1}", "index -1"),
    _bad("fractional-index", "return {[1.5] = 1}", "index 1.5"),
    _bad("infinite-index", "return {[1/0] = 1}"),
    _bad("mixed-keys", "return {1, a = 2}", "mixed keys"),
    _bad("boolean-key", "return {[true] = 1}"),
    _bad("table-key", "return {[{}] = 1}"),
    _bad("function-key", "return {a = 1, [print] = 1}", "mixed keys"),
    _bad("bytes", "return {'\\255'}", "UTF-8"),
    _bad("surrogate", "return {'\\237\\160\\128'}", "UTF-8"),
    _bad("overlong", "return {'\\192\\128'}", "UTF-8"),
    _bad("beyond-unicode", "return {'\\244\\144\\128\\128'}", "UTF-8"),
    _bad("key-of-bytes", "return {['\\255'] = 1}", "UTF-8"),
    _bad("too-large", "return {('x'):rep(2e6)}", "larger than"),
    _bad("too-large-in-pieces", "local t, s = {}, ('x'):rep(1e4) for i = 1, 300 do t[i] = s end return t", "larger"),
    _bad("too-large-when-escaped", "return {('\\1'):rep(5e5)}", "larger than"),
    _bad("billion-laughs", "local t = {'lol'} for i = 1, 40 do t = {t, t} end return t", "larger than"),
    _bad("long-key", "return {[('k'):rep(2e6)] = 1}", "larger than"),
    Attack("hidden-by-metatable",
           "return setmetatable({a = 1}, {__index = error, __pairs = error, __len = error, __tostring = error})",
           ("OK",), Layer.RESULT_CHECKS, result=b'{"a":1}'),
    Attack("tampered-library",
           "string.format, string.find, table.concat, table.sort, next, type = nil, nil, nil, nil, nil, nil "
           "return {b = {1.5}, a = 'x\\ny'}", ("OK",), Layer.RESULT_CHECKS, result=b'{"a":"x\\ny","b":[1.5]}'),
    Attack("false-size", "return {('x'):rep(2e6)}", ("CRASHED",), Layer.REPLY_CHECKS,
           without=broken(Layer.RESULT_CHECKS), says="broke its protocol",
           bounds=Bounds(cpu_ms=2_000, output_bytes=MEGABYTE), witness=True),
)  # fmt: skip
