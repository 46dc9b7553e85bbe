"""Builds on macOS: ask for them, wait, and read what they say."""
