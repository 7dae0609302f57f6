"""The verb ``doctor``: what this installation lacks, and what a server makes of one question that needs a tool."""
