"""Further parts of a pytest session: columns of pytest-html, a note on own tests, workers on other hosts."""
