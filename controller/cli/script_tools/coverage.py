"""Which statements of a script its test cases run.

The worker and its protocol have no coverage. So the script is run once more on the same input, as a copy of its text
with a mark before every statement. The copy is wrapped in a function, so that it can report however the script ends. It
prints the marks in one line of hexadecimal digits, which stays far below the bound of the log, and the script's own
prints are silenced meanwhile.

Invariant: the marks must not change the script's answer. This is checked: if the copy's answer differs in a byte from
the script's own, the call is not measured, and the tool says so.
"""

import hashlib

import msgspec

from controller.cli.script_tools.engine import Engine, Execution
from controller.cli.script_tools.lua_syntax import NotLua, Position, syntax_of
from controller.scripts.lookup import Script
from controller.scripts.script_outcome import Executed

_MARKS = "__moonshift_marks"
_SAYS = "moonshift-coverage:"
# One line, so that every statement keeps its line number.
_HEAD = (
    f"{_MARKS}={{}} local __marks,__print,__pcall,__error,__rawget="
    f"{_MARKS},print,pcall,error,rawget print=function() end "
    "local function __script() "
)
_TAIL = """
end
local function __tell()
  local digits, text = "0123456789abcdef", ""
  for at = 0, %d, 4 do
    local value, bit = 0, 1
    for offset = 0, 3 do
      if __rawget(__marks, at + offset) then value = value + bit end
      bit = bit * 2
    end
    text = text .. digits:sub(value + 1, value + 1)
  end
  __print("%s" .. text)
end
local function __done(ok, ...)
  __tell()
  if not ok then __error((...), 0) end
  return ...
end
return __done(__pcall(__script))
"""


class Instrumented(msgspec.Struct, frozen=True):
    """A script's copy with marks, and the statement of each mark."""

    script: Script
    statements: tuple[Position, ...]


class Coverage(msgspec.Struct, frozen=True):
    """The lines that all measured calls together have run. `unmeasured` counts calls that could not be measured."""

    statements: tuple[Position, ...] = ()
    hit: frozenset[int] = frozenset()
    unmeasured: int = 0

    @property
    def percent(self) -> int:
        """Share of statements that ran, rounded down."""
        return 100 * len(self.hit) // len(self.statements) if self.statements else 0

    @property
    def missed_lines(self) -> tuple[int, ...]:
        """Lines on which a statement begins that never ran."""
        lines = {item.line for at, item in enumerate(self.statements) if at not in self.hit}
        return tuple(sorted(lines))


def instrumented(script: Script) -> Instrumented | None:
    """The copy with marks; None for a text that cannot be read."""
    try:
        statements = syntax_of(script.text).statements
    except (NotLua, RecursionError):
        return None
    parts, last = [_HEAD.encode()], 0
    for number, statement in enumerate(statements):
        parts += [script.text[last : statement.offset], b"%s[%d]=true;" % (_MARKS.encode(), number)]
        last = statement.offset
    tail = _TAIL % (max(0, len(statements) - 1), _SAYS)
    text = b"".join([*parts, script.text[last:], tail.encode()])
    copy = msgspec.structs.replace(script, text=text, sha256=hashlib.sha256(text).hexdigest())
    return Instrumented(copy, statements)


def marked(log: tuple[str, ...]) -> frozenset[int] | None:
    """The numbers of the marks in the copy's log; None if there are none."""
    line = next((line for line in reversed(log) if line.startswith(_SAYS)), None)
    if line is None:
        return None
    digits = line.removeprefix(_SAYS)
    return frozenset(
        4 * place + bit
        for place, digit in enumerate(digits)
        for bit in range(4)
        if int(digit, 16) >> bit & 1
    )


async def measure(engine: Engine, execution: Execution, copy: Instrumented) -> Coverage:
    """The script of this call."""
    nothing = Coverage(copy.statements, unmeasured=1)
    answer = await engine.execute(
        copy.script, execution.obj, tenant="coverage", request_id="coverage"
    )
    before = execution.answer
    same = isinstance(before, Executed) == isinstance(answer, Executed)
    if isinstance(before, Executed) and isinstance(answer, Executed):
        same = before.result == answer.result
    hit = marked(answer.log)
    if hit is None or not same:
        return nothing
    return Coverage(copy.statements, frozenset(at for at in hit if at < len(copy.statements)))


def together(parts: list[Coverage]) -> Coverage:
    """All calls of one script as one."""
    if not parts:
        return Coverage()
    return Coverage(
        parts[0].statements,
        frozenset().union(*(part.hit for part in parts)),
        sum(part.unmeasured for part in parts),
    )


def as_ranges(lines: tuple[int, ...]) -> str:
    """Line numbers as ranges: `3, 7-9`."""
    ranges: list[tuple[int, int]] = []
    for line in lines:
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], line)
        else:
            ranges.append((line, line))
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in ranges)
