"""An instrument for language models on a phone: see `docs/architecture.md` for the rooms."""

__version__ = "0.1.0"
