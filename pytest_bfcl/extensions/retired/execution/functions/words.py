"""Texts: counting, reversing, ciphers, initials."""

from __future__ import annotations

MOST_CHARACTERS = 100_000


def count_words(text: str) -> int:
    """How many words, separated by blanks."""
    return len(text.split())


def letter_counts(text: str) -> dict[str, int]:
    """How often each letter occurs, in small letters, most frequent first."""
    letters = [letter for letter in text[:MOST_CHARACTERS].lower() if letter.isalpha()]
    return {letter: letters.count(letter) for letter in sorted(set(letters), key=lambda x: (-letters.count(x), x))}


def reverse_text(text: str) -> str:
    """The text backwards."""
    return text[::-1]


def shift_cipher(text: str, shift: int) -> str:
    """Every Latin letter moved on in the alphabet; case stays, all else too."""
    moved = []
    for letter in text:
        if letter.isascii() and letter.isalpha():
            first = ord("a") if letter.islower() else ord("A")
            letter = chr((ord(letter) - first + shift) % 26 + first)
        moved.append(letter)
    return "".join(moved)


def initials(name: str) -> str:
    """First letters of a name's parts, in capitals."""
    return "".join(part[0].upper() for part in name.split())


FUNCTIONS = (count_words, letter_counts, reverse_text, shift_cipher, initials)
