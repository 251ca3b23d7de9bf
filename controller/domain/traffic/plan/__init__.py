"""The content of a step: the plan over all references, and the input that scripts get."""
