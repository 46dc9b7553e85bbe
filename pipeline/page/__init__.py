"""The page: a static site that shows how far every operator has come, and on what evidence."""

from pipeline.page.content import Inputs
from pipeline.page.site import render_site, write_site
from pipeline.page.timeline import manifest_versions

__all__ = ["Inputs", "manifest_versions", "render_site", "write_site"]
