"""All that is known of every operator, put together from git, the forge, the radar and the runners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pipeline.forge.approval import approval_of
from pipeline.forge.claims import FREE, Claim, footprint, named_in_manifest
from pipeline.forge.overview import Overview, look
from pipeline.forge.place import Place
from pipeline.forge.radar import Radar, Surroundings
from pipeline.forge.track import Seen
from pipeline.manifest import Dispatch, Operator, Status
from pipeline.native_functions import NativeFunctions
from pipeline.runner.build import Build
from pipeline.source import NATIVE_FUNCTIONS

RECENT = timedelta(days=30)
_CACHE = ".cache/radar.json"


@dataclass(frozen=True)
class Observed:
    """`seen` holds every operator of the manifest and every one that has a branch or a pull request besides."""

    overview: Overview
    seen: Mapping[str, Seen]


def no_builds(overview: Overview) -> Mapping[str, Build]:
    return {}


def observe(
    place: Place,
    builds: Callable[[Overview], Mapping[str, Build]] = no_builds,
    ignored: Sequence[int] = (),
) -> Observed:
    """Read everything once. `builds` gives each commit's newest build; `ignored` pull requests claim nothing."""
    overview = look(place)
    newest = builds(overview)
    surroundings = look_around(place, overview)
    functions = native_functions(place, overview.main)
    known = {operator.name: operator for operator in place.manifest.operators}
    names = dict.fromkeys((*known, *overview.heads, *overview.pulls))
    seen = {}
    for name in names:
        operator = known.get(name) or Operator(name)
        claim = surroundings.claim_on(footprint(operator, functions), ignored)
        if claim == FREE and operator.claim and place.public:
            claim = named_in_manifest(operator, ignored)
        seen[name] = _seen(place, overview, operator, claim, newest)
    return Observed(overview, seen)


def look_around(place: Place, overview: Overview) -> Surroundings:
    """Other people's work: what is open, and what landed in the last days or since a branch of ours was planned."""
    radar = Radar(
        place.forge,
        place.repository,
        place.manifest.upstream,
        place.root / _CACHE,
        place.manifest.tracking_issues if place.public else (),
    )
    landed = {landing.number for landing in overview.landings}
    bases = [
        head.base
        for name, head in overview.heads.items()
        if not (head.foreign or head.unrelated or landed & {pull.number for pull in overview.pulls.get(name, ())})
    ]
    month_ago = (place.clock.now() - RECENT).isoformat()
    recent = place.repository.run("rev-list", "-1", f"--before={month_ago}", overview.main).decode().strip()
    starts = dict.fromkeys([*bases, overview.main, *([recent] if recent else [])])
    since = place.repository.run("merge-base", "--octopus", *starts).decode().strip()
    return radar.look(since, overview.main, frozenset(pull.number for pull in overview.all_pulls))


def native_functions(place: Place, commit: str) -> NativeFunctions:
    text = place.repository.read(commit, NATIVE_FUNCTIONS) or b""
    return NativeFunctions(text.decode())


def _seen(place: Place, overview: Overview, operator: Operator, claim: Claim, builds: Mapping[str, Build]) -> Seen:
    head = overview.heads.get(operator.name)
    pulls = overview.pulls.get(operator.name, ())
    numbers = {pull.number for pull in pulls}
    approval = approval_of(place.repository, operator.name, head.commit, place.signers) if head else None
    return Seen(
        operator=operator.name,
        recorded=operator.status if operator.line else Status(),
        written=_is_written(place.root, operator),
        head=head,
        pulls=pulls,
        landings=tuple(landing for landing in overview.landings if landing.number in numbers),
        approval=approval if approval and (approval.signed or not place.needs_signature) else None,
        build=builds.get(head.commit) if head else None,
        claim=claim,
    )


def _is_written(root: Path, operator: Operator) -> bool:
    """Whether its fragments exist, also for an operator whose entry was lost: by the names that fragments have."""
    usual = (root / f"kernels/{operator.name}.metal", root / f"stubs/{operator.name}.mm")
    named = bool(operator.kernel and operator.host) or operator.dispatch is Dispatch.DROP
    return named or all(path.is_file() for path in usual)
