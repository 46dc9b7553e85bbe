"""Planning for the desk: a campaign's plans, on whatever commit a branch stands on or should stand on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pipeline.batch import Migrated, migrate
from pipeline.campaign import Campaign
from pipeline.changeset import Changeset
from pipeline.errors import UsageError
from pipeline.findings import Evidence
from pipeline.git import Repository
from pipeline.snapshot import Snapshot
from pipeline.source_git import GitTree


@dataclass(frozen=True)
class CampaignPlanner:
    """`tell` hears of every operator that was planned again."""

    campaign: Campaign
    tell: Callable[[Migrated], None] = lambda done: None

    @property
    def repository(self) -> Repository:
        """Raises UsageError for a source that holds no branches."""
        if self.campaign.source.repository is None:
            label = self.campaign.source.tree.label
            raise UsageError(f"{label} is not a repository", hint="name a clone of PyTorch with --source PATH")
        return self.campaign.source.repository

    def plan_at(self, operator: str, base: str) -> tuple[Changeset, Evidence]:
        campaign = self._at(base)
        changeset = campaign.plan(campaign.manifest.operator(operator))
        return changeset, campaign.check(changeset)

    def write_again(self, operators: Sequence[str], base: str) -> None:
        campaign = self._at(base)
        for done in migrate(campaign, [campaign.manifest.operator(name) for name in operators]):
            self.tell(done)

    def _at(self, base: str) -> Campaign:
        tree = GitTree(self.repository, base, f"{base[:12]}")
        return replace(self.campaign, snapshot=Snapshot(tree))
