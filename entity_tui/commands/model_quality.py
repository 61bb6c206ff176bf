"""`entity-tui models perplexity`: quality measured on the device itself, as a long job."""

from __future__ import annotations

import click

COMMANDS: tuple[click.Command, ...] = ()
"""The sub-commands about quality."""
