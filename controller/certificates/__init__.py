"""The authority and its certificates: for the webhooks and for the connection to the script worker."""
