"""A group of commands; each is imported when it is called.

Why it exists: all commands together import the simulation, the gates and the script tools. A person who approves would
wait for them: a third of the time that a command takes to start. Invariant: the group has the same commands as one that
imports them all; only the help of the whole group does import them all.
"""

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Commands by the module that has them; a command is named like its function, with dashes."""

    def __init__(self, *args: Any, modules: Mapping[str, tuple[str, ...]], **kwargs: Any) -> None:
        """`modules` gives the functions of each module that are commands."""
        super().__init__(*args, **kwargs)
        self._places = {
            function.replace("_", "-"): (module, function)
            for module, functions in modules.items()
            for function in functions
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted; nothing is imported."""
        return sorted({*self.commands, *self._places})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported at the first call; None if there is none."""
        if cmd_name not in self._places:
            return super().get_command(ctx, cmd_name)
        module, function = self._places[cmd_name]
        found = getattr(importlib.import_module(module), function)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name; a mistyped one is answered with the nearest name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as unknown:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near:
                raise
            advice = f"{unknown.message} Did you mean {near[0]}?"
            raise click.UsageError(advice, ctx) from unknown
