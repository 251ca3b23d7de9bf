"""Views as rich renderables. Pure: the clock and the program's name are arguments.

Invariant: the same renderables are printed on a terminal and into a pipe; colours never add information to the words.
"""
