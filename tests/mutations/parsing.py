"""Reads a source text into a syntax tree, whatever else goes on in the process.

Why not `ast.parse` alone: CPython 3.11 keeps the depth of a tree under construction in one place for the whole process.
When the garbage collector runs in between, and a finalizer writes a traceback, which parses a line itself, the outer
call ends in `SystemError: AST constructor recursion depth mismatch`. Large modules in a process that ran thousands of
tests met it. Invariant: no collection happens while a tree is made.
"""

import ast
import gc


def parsed(source: str) -> ast.Module:
    """The tree of a module's text."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if collects:
            gc.enable()
