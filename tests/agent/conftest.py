"""The promised shells and tools, for every test of this room."""

from tests.agent.toolsets import toolset

__all__ = ["toolset"]
