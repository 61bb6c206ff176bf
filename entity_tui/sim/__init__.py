"""The phone that is not there: a simulated phone behind a real adb server."""
