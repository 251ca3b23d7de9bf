"""How much one script may ask and say.

Why: a script and its answers are a tenant's, and its requests are the controller's. Invariant: numbers only.
"""

REQUESTS = 4
"""Of one turn."""
TURNS = 8
SECONDS = 30
"""Of a source, with all of its turns and waits."""
STATE_BYTES = 1024
TEXT_BYTES = 4096
"""Of a text that is a value."""
CHARACTERS_OF_WORDS = 300
URL_CHARACTERS = 8192
CONTENT_BYTES = 256 * 1024
PAIRS = 64
"""Headers, parameters of a query or fields of a form, of one request."""
LONGEST_WAIT_OF_A_SOURCE = 30
SHORTEST_WAIT_OF_A_CHECK = 5
LONGEST_WAIT = 86400
"""Of a check or a target."""
