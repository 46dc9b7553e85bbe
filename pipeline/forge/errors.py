"""What GitHub answered, as one line that says what to do."""

from __future__ import annotations

from pipeline.errors import PipelineError


class ForgeError(PipelineError):
    """GitHub refused or could not be reached."""


class Forbidden(ForgeError):
    """The token may not do this."""


class Invalid(ForgeError):
    """GitHub found the request wrong (422): a branch that is not there, a pull request that exists already."""


class Uncertain(ForgeError):
    """The call may have worked: the answer was lost (5xx, dropped connection). Look before repeating it."""


class RateLimited(ForgeError):
    """The wait that GitHub asks for is longer than we wait."""
