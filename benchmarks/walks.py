"""How many functions of this project are called from ask to tell, in memory and in a study: what whoever follows a
step in a debugger has to pass through.

Kernel and noise are given, the policy is mini-GP-UCB, and the run is under way. Counted are different functions with a
name of their own, whatever the number of calls, the median of many steps. `python -m benchmarks.walks` prints those of
one step, in the order of their first calls, with who calls them; `python -m benchmarks.walks ask` those of one walk.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_low
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

from rich.console import Console

import ostinato
from benchmarks import explain
from benchmarks.problem import BETA, KERNEL, NOISE_STD, C, Problem, Row
from ostinato import MiniUCB, Optimizer, Study

ROOT = Path(ostinato.__file__).parent
FIRST, COUNTED = 40, 25  # steps before those that are counted, and these
# Half of what issue 13 counted before it, rounded down: 104, 69 and 226. (At b5d4c0b this count gives 96, 70 and 205.)
WANTED = {"ask": 52, "tell": 34, "study.ask": 113}


@dataclass
class Walk:
    """The functions of one call in the order of their first calls, and who called them."""

    callers: dict[CodeType, list[str]] = field(default_factory=dict[CodeType, list[str]])

    def __len__(self) -> int:
        return len(self.callers)

    def rooms(self) -> Counter[str]:
        """How many of them are in which package."""
        return Counter(_place(code).split("/")[0].removesuffix(".py") for code in self.callers)

    def lines(self) -> Iterator[str]:
        for number, (code, callers) in enumerate(self.callers.items(), 1):
            yield f"{number:4}  {_place(code):28} {code.co_qualname:36} ← {', '.join(callers)}"

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and _is_counted(frame.f_code):
            caller, callers = _caller(frame), self.callers.setdefault(frame.f_code, [])
            if caller not in callers:
                callers.append(caller)


def _is_counted(code: CodeType) -> bool:
    """Functions of this project that somebody wrote and named: no comprehensions, no lambdas, no generated __init__."""
    return code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<")


def _place(code: CodeType) -> str:
    return Path(code.co_filename).relative_to(ROOT).as_posix()


def _caller(frame: FrameType) -> str:
    """The next counted function above a call."""
    above = frame.f_back
    while above is not None and not _is_counted(above.f_code):
        above = above.f_back
    return "the user" if above is None else above.f_code.co_qualname


def walked(call: Callable[[], Any]) -> tuple[Walk, Any]:
    """What a call passes through."""
    walk = Walk()
    sys.setprofile(walk.see)
    try:
        answer = call()
    finally:
        sys.setprofile(None)
    return walk, answer


def run(console: Console) -> Iterator[Row]:
    for name, walk in typical().items():
        rooms = ", ".join(f"{room} {n}" for room, n in walk.rooms().most_common())
        console.print(f"{name}: {rooms}", highlight=False)
        wanted = WANTED.get(name)
        ok = None if wanted is None else len(walk) <= wanted
        yield Row(f"functions of {name}", f"{len(walk)}", "" if wanted is None else f"≤ {wanted}", ok)


def typical() -> dict[str, Walk]:
    """The walk of median length, of each kind."""
    walks = in_memory() | in_a_study()
    return {name: next(each for each in found if len(each) == _middle(found)) for name, found in walks.items()}


def _middle(walks: list[Walk]) -> int:
    return median_low(map(len, walks))


def in_memory() -> dict[str, list[Walk]]:
    problem = Problem()
    return _walks("", problem, problem.optimizer())


def in_a_study() -> dict[str, list[Walk]]:
    problem = Problem()
    with TemporaryDirectory() as folder:
        settings: dict[str, Any] = {"kernel": KERNEL, "noise_std": NOISE_STD, "policy": MiniUCB(C, BETA), "seed": 0}
        study = Study("walk", f"sqlite:///{folder}/walk.db", problem.X, **settings)
        return _walks("study.", problem, study)


def _walks(prefix: str, problem: Problem, opt: Optimizer | Study) -> dict[str, list[Walk]]:
    walks: dict[str, list[Walk]] = {f"{prefix}ask": [], f"{prefix}tell": []}
    for step in range(FIRST + COUNTED):
        ask, batch = walked(opt.ask)
        values = problem.measure(batch.index, batch.repeats)
        tell, _ = walked(lambda batch=batch, values=values: opt.tell(batch, values))  # type: ignore[arg-type]
        if step >= FIRST:
            walks[f"{prefix}ask"].append(ask)
            walks[f"{prefix}tell"].append(tell)
    return walks


def main(names: list[str]) -> None:
    for name, walk in typical().items():
        if name in (names or [name]):
            print(f"{name}: {len(walk)} functions", *walk.lines(), sep="\n")


if __name__ == "__main__":
    explain(__doc__)
    main(sys.argv[1:])
