"""All questions to other systems: allowed addresses, requests, and answers. Gives no verdicts."""
