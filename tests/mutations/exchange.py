"""Gives functions that are imported already the code that a mutation gives them.

Importing the domain and its tests costs more than most tests that have to notice a mutation. A fork of a process that
has imported them needs the changed functions only. Invariant: every function object of the changed source gets its new
code, wherever else it is known by then (in tables, in closures, under other names). A mutation of what a module does
while it is imported (a table, a constant) cannot be brought in this way: `changes_functions_only` says so.
"""

import gc
from types import CodeType, FunctionType

from tests.mutations.mutation import Mutation, mutated, source_of


def changes_functions_only(mutation: Mutation) -> bool:
    """Whether the module does the same while it is imported, and has the same functions."""
    before = compile(source_of(mutation).read_text(encoding="utf-8"), "before", "exec")
    after = compile(mutated(mutation), "after", "exec")
    return _while_imported(before) == _while_imported(after)


def exchange(mutation: Mutation) -> None:
    """Change the functions of the mutation's module in this process."""
    path = str(source_of(mutation))
    codes = _functions(compile(mutated(mutation), path, "exec"))
    exchanged = 0
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and found.__code__.co_filename == path:
            code = codes.get(found.__code__.co_qualname)
            if code is not None:
                found.__code__ = code
                exchanged += 1
    assert exchanged >= len(codes), f"{mutation.module} is not imported whole"


def _functions(code: CodeType) -> dict[str, CodeType]:
    """The functions and methods that a module has once it is imported, each with the code inside it."""
    found: dict[str, CodeType] = {}
    for inner in _inside(code):
        if _is_class_body(inner):
            found |= _functions(inner)
        elif not inner.co_name.startswith("<"):
            found[inner.co_qualname] = inner
    return found


def _while_imported(code: CodeType) -> tuple[object, ...]:
    """The code run at import: the module's own code and the bodies of its classes, without the functions' bodies."""
    plain = tuple(const for const in code.co_consts if not isinstance(const, CodeType))
    inner = (
        _while_imported(found)
        if _is_class_body(found) or found.co_name.startswith("<")
        else found.co_qualname
        for found in _inside(code)
    )
    return (code.co_code, code.co_names, plain, *inner)


def _inside(code: CodeType) -> list[CodeType]:
    return [const for const in code.co_consts if isinstance(const, CodeType)]


def _is_class_body(code: CodeType) -> bool:
    return "__qualname__" in code.co_names
