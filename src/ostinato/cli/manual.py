"""A person measures: what to measure is shown, and the values are typed."""

from rich.console import Console
from rich.markup import escape

from ostinato.checks import counted
from ostinato.cli.terminal import in_words
from ostinato.cli.typed import commas_read, typed_values
from ostinato.errors import InvalidFeedback, OstinatoError
from ostinato.stopping import met, watched
from ostinato.study import Study, Task

HELP = """\
  12.5           the value of one measurement; several at once with spaces between them
  {trials}nan            a measurement that failed
  undo           type the last value again, or skip it; undo again for the one before
  skip           leave this measurement out: it will not be made, and another is asked for
  enough         no more repeats of this batch: decide anew
  retire         never ask for this candidate again
  q              stop; the same command goes on"""


LEFT = "left"  # why a dialogue ended that somebody ended with q


def by_hand(study: Study, console: Console) -> str:
    """Ask, wait for a person's values, tell. Returns why it ended."""
    trials = "3/20 for 3 yes of 20; " if study.outcome.binary else ""
    console.print(
        f"Type the values of each measurement, separated by spaces; {trials}nan for one that failed; undo, skip, "
        "enough, retire or help; q to stop.",
        highlight=False,
    )
    typed = TypedAnswers(study, console)
    try:
        return _dialogue(study, typed, console)
    finally:
        typed.settle()


def _dialogue(study: Study, typed: "TypedAnswers", console: Console) -> str:
    rules = watched(study.stop)
    while (ended := study.looked(lambda optimizer: met(rules, optimizer)) if rules else None) is None:
        task = typed.next_task()
        if task is None:
            return "budget"
        times = "once" if task.repeats == 1 else f"{task.repeats:,} times"
        console.print(f"\nmeasure [bold]{escape(in_words(task.candidate))}[/bold] {times}", highlight=False)
        stopped = typed.all_of(task)
        if stopped is not None:
            typed.settle()
            study.release(task)
            return stopped
    return ended


class TypedAnswers:
    """What a person types, line by line."""

    def __init__(self, study: Study, console: Console) -> None:
        self._study, self._console = study, console
        self._numbers: list[int] = []  # of the measurements that were typed or skipped here, the last one last
        self._skipped: list[tuple[Task, int]] = []  # repeats that are not stored as skipped yet

    def next_task(self) -> Task | None:
        """What to measure next.

        Repeats that were skipped count as under way until a value comes: else the same would be asked for at once.
        """
        task = self._study.ask()
        if task is None and self._skipped:
            self.settle()
            task = self._study.ask()
        return task

    def settle(self) -> None:
        """Store which repeats were skipped: they neither count nor come again."""
        while self._skipped:
            task, repeat = self._skipped[0]
            self._study.skip(task, repeat)
            self._numbers += self._study.numbers(task.batch, range(repeat, repeat + 1))
            del self._skipped[0]

    def all_of(self, task: Task) -> str | None:
        """All values of a task; returns why it ended before that, if it did."""
        done, back = 0, 0  # repeats that are settled; and how many measurements ago the one to be put right was
        while done < task.repeats:
            words = self._line(self._mistake(back) if back else f"  {done + 1:,} of {task.repeats:,}: ")
            if words is None or words == ["q"]:
                return "interrupted" if words is None else LEFT
            if words == ["help"]:
                self._say(HELP.format(trials="3/20           3 yes of 20\n  " if self._study.outcome.binary else ""))
            elif words == ["undo"]:
                self.settle()
                back = self._further(back)
            elif words in (["enough"], ["retire"]):
                self._study.close(task)
                if words == ["retire"]:
                    self._study.retire(task.index)
                return None
            elif back:
                back = 0 if self._put_right(words, self._numbers[-back]) else back
            else:
                done += self._take(words, task, done)
        return None

    def _take(self, words: list[str], task: Task, done: int) -> int:
        """Values, or one that is skipped; returns how many repeats of the task that settles."""
        first = task.start + done
        if words == ["skip"]:
            self._skipped.append((task, first))
            return 1
        try:
            values = self._values(words, task.repeats - done)
            self.settle()
            self._study.tell(task, values, start=first)
            self._say_commas(words)
        except OstinatoError as error:
            self._say(f"  [red]{escape(str(error))}[/red] Nothing of it was taken in: type it again.")
            return 0
        self._numbers += self._study.numbers(task.batch, range(first, first + len(values)))
        return len(values)

    def _further(self, back: int) -> int:
        """One measurement further back, as far as any was typed here."""
        if back < len(self._numbers):
            return back + 1
        what = "more was typed here" if back else "was typed yet"
        self._say(f"  Nothing {what} that could be undone. (`ostinato correct` corrects what is older.)")
        return back

    def _mistake(self, back: int) -> str:
        """Asks for what a measurement should have been."""
        number = self._numbers[-back]
        was = next(each for each in self._study.measurements(everything=True) if each.number == number)
        value = "skipped" if was.value is None else f"{was.value:g}"
        return f"  {value} of {in_words(self._study.candidate(was.index))} should have been (or skip): "

    def _put_right(self, words: list[str], number: int) -> bool:
        """Another value for a measurement, also for one that was skipped; or it is skipped."""
        try:
            if words == ["skip"]:
                self._study.retract(number=number, why="undone", again=False)
            else:
                (value,) = self._values(words, 1)
                self._study.correct(number=number, new=value, why="undone")
                self._say_commas(words)
        except OstinatoError as error:
            self._say(f"  [red]{escape(str(error))}[/red] It is as it was: type it again.")
            return False
        return True

    def _values(self, words: list[str], most: int) -> list[float]:
        values = typed_values(words, binary=self._study.outcome.binary)
        if not values:
            raise InvalidFeedback("That is not a value. Type help to see more.")
        if len(values) > most:
            raise InvalidFeedback(
                f"These are {len(values):,} values, and {counted(most, 'measurement')} is to come here."
            )
        return values

    def _line(self, prompt: str) -> list[str] | None:
        """The words of a line; None where there are no more."""
        try:
            return input(prompt).split()
        except (KeyboardInterrupt, EOFError):
            self._console.print()
            return None

    def _say_commas(self, words: list[str]) -> None:
        if said := commas_read(words):
            self._say(f"  {escape(said)}")

    def _say(self, words: str) -> None:
        self._console.print(words, soft_wrap=True, highlight=False)
