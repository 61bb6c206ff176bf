"""`python -m entity_tui` is `entity-tui`."""

from entity_tui.cli import main

main()
