"""Fixtures shared by every room; the real things tests run against live in `tests/fixtures`."""

from hypothesis import HealthCheck, settings

# Machines that run tests are shared and noisy: a property test says what holds, never how fast.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")

pytest_plugins = [
    "tests.fixtures.tools",
    "tests.fixtures.adb",
    "tests.fixtures.phone",
    "tests.fixtures.ssh",
    "tests.fixtures.wire",
    "tests.fixtures.engine",
]
