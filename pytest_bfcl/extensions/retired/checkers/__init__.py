"""Verdicts on calls that were carried out, and on chats; nothing is executed here."""
