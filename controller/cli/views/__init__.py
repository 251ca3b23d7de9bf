"""From an observation to the values that are shown. Pure: nothing is read, the clock is an argument."""
