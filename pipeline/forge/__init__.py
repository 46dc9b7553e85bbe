"""Where branches become pull requests: GitHub, or files when there is no token."""
