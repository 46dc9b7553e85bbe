"""Skeletons of kernels and stubs, made from what a source tree and the installed torch say of an operator."""

from pipeline.authoring.draft import Draft, draft
from pipeline.authoring.facts import Facts, facts_of
from pipeline.authoring.observe import observe
from pipeline.authoring.reference import Reference
from pipeline.authoring.write import entry_text, missing_keys, write_files

__all__ = ["Draft", "Facts", "Reference", "draft", "entry_text", "facts_of", "missing_keys", "observe", "write_files"]
