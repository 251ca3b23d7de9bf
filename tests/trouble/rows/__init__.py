"""The troubles, a file for each family."""

from tests.trouble.rows import rollouts
from tests.trouble.table import Trouble

TROUBLES: tuple[Trouble, ...] = (*rollouts.TROUBLES,)
