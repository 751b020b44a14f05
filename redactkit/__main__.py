"""`python -m redactkit` is the command line."""

from redactkit.cli import main

main()
