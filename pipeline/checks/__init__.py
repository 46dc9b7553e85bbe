"""Checks of a planned change: each looks at one thing and returns a CheckResult."""
