"""Which routes: what gateway objects and Services have to say, as plans and values; nothing is written here."""
