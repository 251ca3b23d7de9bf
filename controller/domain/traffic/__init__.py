"""Routes: the content of gateway objects and Services, as plans and values; nothing is written here."""
