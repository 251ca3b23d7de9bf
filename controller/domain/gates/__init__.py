"""May a step go on: deadlines of work. Returns verdicts, never actions."""
