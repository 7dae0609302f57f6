"""Pages over many runs, from an index of their lines, served or written as a site."""
