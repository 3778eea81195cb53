"""Why this candidate, and why this many repeats: a batch's reason in a sentence, with its numbers."""

from typing import Any

import msgspec

from ostinato.checks import at_most, counted
from ostinato.errors import InvalidSetting
from ostinato.records import STAYS, Batch, Reason

ENDLESS = 10**9  # repeats that a rule asks for where a value is known for sure


class Explanation(msgspec.Struct, frozen=True):
    """Words first; `numbers` holds what they are made of."""

    candidate: Any
    why_this_candidate: str
    why_this_many: str
    numbers: Reason

    def __str__(self) -> str:
        return f"{self.why_this_candidate} {self.why_this_many}"


def explanation(batch: Any) -> Explanation:
    """The reason of a batch, in words."""
    if not isinstance(batch, Batch) or batch.reason is None:
        raise InvalidSetting(f"{batch!r} has no reason to explain: give a batch that ask() returned.")
    return Explanation(batch.candidate, _candidate(batch, batch.reason), _repeats(batch, batch.reason), batch.reason)


def _candidate(batch: Batch, reason: Reason) -> str:
    if reason.first:
        return f"{batch.candidate} is one of the first few: without some measured, nothing is known."
    text = f"{batch.candidate} is believed to give {reason.mean:.4g} ± {reason.std:.2g}"
    if reason.measured:
        text += f" after {counted(reason.measured, 'measurement')}"
    if reason.leader is None:
        return text + "; nothing else that may be asked for was measured yet." + _maximum(reason)
    if reason.leads:
        why = STAYS if reason.seeks == STAYS else "it is worth knowing better"
        return text + f", the best measured so far, and {why}." + _maximum(reason)
    other = f"the leader {reason.leader} gives {reason.leader_mean:.4g}" if reason.leader_mean is not None else ""
    return text + (f", and {reason.seeks}" if reason.seeks else "") + f"; {other}." + _maximum(reason)


def _maximum(reason: Reason) -> str:
    """How near to the highest score of a space its own is."""
    if reason.gap is not None:
        boxes = counted(reason.searched, "box", "boxes")
        return f" Its score is within {at_most(reason.gap)} of the highest of the whole space (proved with {boxes})."
    if not reason.searched:
        return ""
    return (
        f" It is the best of {reason.searched:,} points of the space that were looked at: another may score higher, "
        "and regret bounds need that what is missed adds up to little."
    )


def _repeats(batch: Batch, reason: Reason) -> str:
    text = f"It is measured {_many(batch.repeats)}"
    if reason.first:
        return text + "."
    noise = f"one measurement carries ± {reason.noise_std:.2g}" + (
        f" and its set-up ± {reason.setup_std:.2g}" if reason.setup_std else ""
    )
    if batch.capped:
        wanted = "" if batch.wanted > ENDLESS else f" and not {_many(batch.wanted)}"
        return text + f"{wanted}, because {reason.cause or 'of a cap'}."
    if batch.truncated:
        return text + f", as many as there is room for of {batch.wanted:,}."
    if reason.C is None:
        return text + f": {noise}."
    if batch.repeats == 1:
        if reason.setup_std and reason.setup_std**2 * reason.C**2 > reason.noise_std**2:
            return text + f": {noise}, which more repeats of the same set-up would not make smaller."
        return text + f": {noise}, little next to the uncertainty of ± {reason.std:.2g}, so that one tells most."
    text += f": {noise}, so that fewer would teach little next to the ± {reason.std:.2g} that are unknown"
    if reason.switch_cost and reason.staleness > reason.C:
        return text + f", and going there costs as much as {reason.switch_cost:.3g} measurements."
    return text + f", and more would leave the model behind by over {reason.C:g} (now {reason.staleness:.3g})."


def _many(repeats: int) -> str:
    return "once" if repeats == 1 else f"{repeats:,} times"
