"""GitHub over real HTTP, standing on real bare git repositories.

`server.StandIn` serves it; `world` holds the state and GitHub's rules, `bodies` gives them GitHub's shapes. Every
response (and every request body) is held against GitHub's published description through githubkit's models, version
2026-03-10: that proves shapes. What a call *means* is ours to get right; each rule in `world` names
its source.
"""
