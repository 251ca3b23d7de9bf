"""`simulate`: a release played through before anybody starts it."""
