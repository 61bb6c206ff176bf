"""Fixtures shared by every room; the real things tests run against live in `tests/fixtures`."""

pytest_plugins = [
    "tests.fixtures.tools",
    "tests.fixtures.adb",
    "tests.fixtures.phone",
    "tests.fixtures.ssh",
    "tests.fixtures.wire",
    "tests.fixtures.engine",
]
