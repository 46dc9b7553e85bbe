"""Edits of PyTorch's source: pure functions from text to text, byte-exact outside their span, or a refusal."""
