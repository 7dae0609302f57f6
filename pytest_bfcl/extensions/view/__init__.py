"""Looking at many runs: pages over an index of their lines, served or written as a site."""
