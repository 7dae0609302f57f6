"""What a session of pytest may have besides: columns of pytest-html, a word on own tests, workers on other hosts."""
