"""Users' own tests and entries: assertions, ``ask``, recordings; entries made, read, checked and proved."""
