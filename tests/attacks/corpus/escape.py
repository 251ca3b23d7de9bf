"""Ways out: of the script's world into the engine, of the engine into Python, of Python into the machine."""

from luaworker.layers import Layer
from tests.attacks.attack import Attack, broken

_ERROR = ("RUNTIME_ERROR",)
_KILLED = ("SANDBOX_VIOLATION",)


def _out(name: str, script: str, says: str = "", *, witness: bool = False) -> Attack:
    return Attack(name, script, _ERROR, Layer.ALLOW_LIST, says=says, witness=witness)


def _system_call(name: str, script: str, *, witness: bool = False) -> Attack:
    """The script's world is taken to be open, so the kernel's filter is the lock that is left."""
    return Attack(
        name, script, _KILLED, Layer.SECCOMP, without=broken(Layer.ALLOW_LIST), witness=witness
    )


def _python(name: str, script: str, *, witness: bool = False) -> Attack:
    return Attack(
        name, script, _ERROR, Layer.PYTHON_DOOR, without=broken(Layer.ALLOW_LIST), witness=witness
    )


_UNFILTERED = broken(Layer.ALLOW_LIST, Layer.SECCOMP)
_OPEN_FILES = broken(Layer.ALLOW_LIST, Layer.SECCOMP, Layer.LANDLOCK)

ATTACKS = (
    _out("os-execute", "os.execute('id') return {}", "attempt to index global 'os'"),
    _out("os-getenv", "return {os.getenv('HOME') or 'none'}", witness=True),
    _out("io-open", "return {io.open('/etc/passwd'):read('*a')}", "attempt to index global 'io'"),
    _out("io-popen", "return {io.popen('id'):read('*a')}"),
    _out("require", "return {require('os').time()}", "attempt to call global 'require'"),
    _out("dofile", "dofile('/etc/passwd') return {}"),
    _out("loadfile", "return {select(2, loadfile('/etc/passwd'))}"),
    _out("loadlib", "return {package.loadlib('libc.so.6', 'system') and 1}"),
    _out("package-loaded", "return {package.loaded.os.time()}"),
    _out("debug-registry", "return {debug.getregistry() and 1}"),
    _out("debug-upvalue", "return {debug.getupvalue(pairs, 1) and 1}"),
    _out("debug-unhook", "debug.sethook() while true do end"),
    _out("coroutine", "return {coroutine.wrap(function() return 1 end)()}"),
    _out("newproxy-gc", "local p = newproxy(true) getmetatable(p).__gc = function() end return {}"),
    _out("module", "module('x', package.seeall) return {}"),
    _out("string-dump", "return {string.dump(function() end)}"),
    _out("python-none", "return {python.as_attrgetter(python.none).__class__ and 1}"),
    _out("python-eval", "return {python.eval('1')}"),
    _out("python-builtins", "return {python.builtins.open('/etc/passwd') and 1}"),
    _out("environment-of-the-thread", "return {getfenv(0).os.time()}"),
    _out("environment-of-a-library-function", "return {getfenv(print).io.open('/etc/passwd') and 1}"),
    _out("environment-of-the-engines-function", "return {getfenv(next).os.time()}"),
    _out("environments-up-the-stack",
         "for level = 0, 20 do local ok, env = pcall(getfenv, level) "
         "if ok and (env.os or env.debug or env.python) then return {found = level} end end error('none')", "none"),
    _out("registry-by-the-null", "return {getmetatable(json.null).__index}"),
    _out("string-metatable", "getmetatable('').__index = nil return {}"),
    _out("string-metatable-hook", "setmetatable('', {__index = function() return os end}) return {}"),
    _out("printregs", "_printregs() return {}"),
    _out("loaded-chunk", "return {loadstring('return os.time()')()}"),
    _out("loaded-chunk-with-own-environment", "return {setfenv(loadstring('return io.open'), getfenv(0))()()}"),
    _out("all-names",
         "for _, name in ipairs({'os', 'io', 'debug', 'package', 'require', 'python', 'coroutine', 'dofile', "
         "'loadfile', 'module', 'newproxy', 'ffi', 'jit', 'bit'}) do "
         "if rawget(_G, name) ~= nil or rawget(getfenv(0), name) ~= nil then return {name} end end error('nothing')",
         "nothing", witness=True),
    Attack("bytecode", "return {loadstring('\\27Lua\\81\\0\\1\\4\\8\\4\\8\\0')()}", _ERROR, Layer.BOUNDS),
    Attack("bytecode-in-pieces",
           "local parts, at = {'\\27', 'Lua'}, 0 "
           "return {load(function() at = at + 1 return parts[at] end)()}", _ERROR, Layer.BOUNDS),
    Attack("bytecode-as-script", b"\x1bLua\x51\x00\x01\x04\x08\x04\x08\x00" + bytes(64), ("SYNTAX_ERROR",),
           Layer.BOUNDS, says="binary chunks are not accepted"),
    _system_call("filtered-open", "return {io.open('/etc/passwd') and 1}", witness=True),
    _system_call("filtered-create", "return {io.open('/tmp/moonshift-was-here', 'w') and 1}"),
    _system_call("filtered-execute", "return {os.execute('true')}"),
    _system_call("filtered-lines", "for line in io.lines('/etc/passwd') do return {line} end"),
    _system_call("filtered-remove", "return {os.remove('/nonexistent') and 1}"),
    _system_call("filtered-rename", "return {os.rename('/nonexistent', '/other') and 1}"),
    _system_call("filtered-tmpname", "return {os.tmpname()}"),
    _system_call("filtered-loadlib", "return {package.loadlib('/nonexistent.so', '*') and 1}"),
    _system_call("filtered-require", "return {pcall(require, 'nothing')}"),
    _system_call("filtered-dofile", "return {pcall(dofile, '/etc/passwd')}"),
    _system_call("filtered-write", "io.stderr:write('x') io.stderr:flush() return {}"),
    _system_call("filtered-read", "return {io.stdin:read(1)}"),
    _python("door-class", "return {tostring(python.as_attrgetter(python.none).__class__)}", witness=True),
    _python("door-subclasses",
            "return {python.as_attrgetter(python.as_attrgetter(python.none).__class__).__base__ and 1}"),
    _python("door-item", "return {python.as_itemgetter(python.none)['__class__']}"),
    _python("door-set", "python.as_attrgetter(python.none).x = 1 return {}"),
    Attack("landlocked-read", "assert(io.open('/etc/passwd')) return {}", _ERROR, Layer.LANDLOCK,
           without=_UNFILTERED, says="Permission denied", witness=True),
    Attack("landlocked-folder", "assert(io.open('/tmp')) return {}", _ERROR, Layer.LANDLOCK,
           without=_UNFILTERED, says="Permission denied"),
    Attack("many-descriptors",
           "local held = {} for i = 1, 20 do held[i] = assert(io.open('/dev/null')) end return {}", _ERROR,
           Layer.FILE_RLIMITS, without=_OPEN_FILES, says="Too many open files", witness=True),
)  # fmt: skip
