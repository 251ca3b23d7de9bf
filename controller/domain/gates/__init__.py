"""May a step go on: verdicts on metrics. Returns verdicts, never actions."""
