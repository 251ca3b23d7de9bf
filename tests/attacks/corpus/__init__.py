"""The whole corpus, by category."""

from tests.attacks.attack import Attack, Category
from tests.attacks.corpus import contamination, cpu, crash, errors, escape, memory, results

CORPUS: dict[Category, tuple[Attack, ...]] = {
    Category.ESCAPE: escape.ATTACKS,
    Category.CONTAMINATION: contamination.ATTACKS,
    Category.CPU: cpu.ATTACKS,
    Category.MEMORY: memory.ATTACKS,
    Category.CRASH: crash.ATTACKS,
    Category.RESULT: results.ATTACKS,
    Category.ERROR: errors.ATTACKS,
}
