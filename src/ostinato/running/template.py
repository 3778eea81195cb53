"""A program as it is given on the command line, with places for values: --command './measure --temp {temp}'."""

import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostinato.errors import InvalidSetting

SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash")
OPERATOR = re.compile(r"\||\|\||&|&&|;|\d?(>>?|<)(&\d)?")  # what only a shell understands, as a word of its own
PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")  # {column}, and {{ or }} for braces


@dataclass(frozen=True)
class Template:
    """A program and its arguments, in which values take the place of {column}.

    They are passed as they are, never through a shell; where the program is itself a shell (sh -c "…"), they are
    quoted. option: by which it was given, for messages.
    """

    text: str
    columns: tuple[str, ...]
    option: str

    def check(self) -> None:
        """Whether it can be read and its program run."""
        words = self.words
        unknown = [name for word in words for name in self._named(word) if name not in self.columns]
        if unknown:
            raise InvalidSetting(
                f"{self.option} names {{{unknown[0]}}}, and it may name {', '.join(self.columns)}. Write {{{{ and }}}} "
                "for braces that are meant as such."
            )
        if operator := self._operator():
            raise InvalidSetting(
                f"{self.option} has {operator!r}, which only a shell understands, and the program is started without "
                f"one: write {self.option} \"sh -c '…'\", or quote {operator!r} if it is meant as an argument."
            )
        script = _script(words)
        quoted = _between_quotes(words[script]) if script is not None else None
        if quoted:
            raise InvalidSetting(
                f"{self.option} has {{{quoted}}} between quotes, within {words[0]} -c: leave these quotes out. Values "
                "are quoted there already, and other quotes around them would undo that."
            )
        program = _filled(words[0], dict.fromkeys(self.columns, ""))
        if shutil.which(program) is None:
            raise InvalidSetting(
                f"{self.option}: there is no program {program!r} that can be run from here. Give its path, and see "
                "that it may be executed (chmod +x)."
            )

    @property
    def words(self) -> list[str]:
        try:
            words = shlex.split(self.text)
        except ValueError as error:
            raise InvalidSetting(f"{self.option} {self.text!r} cannot be read ({error}): check its quotes.") from None
        if not words:
            example = " ".join(["./program", *(f"{{{name}}}" for name in self.columns[:1])])
            raise InvalidSetting(f"{self.option} is empty: give a program, as in {self.option} '{example}'.")
        return words

    def _operator(self) -> str | None:
        """A shell's operator that stands by itself, outside quotes."""
        try:
            words = shlex.split(self.text, posix=False)  # keeps quotes
        except ValueError:  # quotes that are escaped cannot be kept
            return None
        return next(filter(OPERATOR.fullmatch, words), None)

    @property
    def same_program(self) -> bool:
        """Whether it is the same program for all values, so that one that cannot be started cannot be for any."""
        return not self._named(self.words[0])

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns that it does not name, where it names some; none where it may read all of them by itself."""
        named = {name for word in self.words for name in self._named(word)}
        reads = not named or "OSTINATO_CANDIDATE" in self.text
        return () if reads else tuple(name for name in self.columns if name not in named)

    def filled(self, values: Mapping[str, Any]) -> list[str]:
        """The program and its arguments, with these values in their places."""
        words = self.words
        plain = {name: _text(value) for name, value in values.items()}
        quoted = {name: shlex.quote(value) for name, value in plain.items()}
        script = _script(words)
        return [_filled(word, quoted if i == script else plain) for i, word in enumerate(words)]

    def _named(self, word: str) -> list[str]:
        """The columns that a word names."""
        if {"{", "}"} & set(PLACE.sub("", word)):
            raise InvalidSetting(
                f"{self.option} cannot be read: {word!r} has a lone brace. Write {{{{ or }}}} for one that is meant as "
                "such."
            )
        return [found[1] for found in PLACE.finditer(word) if found[1] is not None]


def _script(words: list[str]) -> int | None:
    """Where a shell is given its script: the word after -c."""
    if Path(words[0]).name not in SHELLS:
        return None
    return next((i + 1 for i, word in enumerate(words[:-1]) if re.fullmatch(r"-\w*c", word)), None)


def _between_quotes(script: str) -> str | None:
    """A column that a shell's script names between quotes."""
    quote, at = "", 0
    while at < len(script):
        place = PLACE.match(script, at)
        if place and place[1] is not None and quote:
            return place[1]
        if script[at] == "\\" and quote != "'":
            at += 1
        elif script[at] in "'\"" and quote in ("", script[at]):
            quote = "" if quote else script[at]
        at = place.end() if place else at + 1
    return None


def _filled(word: str, values: Mapping[str, str]) -> str:
    """{column} becomes the column's value, and {{ a brace."""
    return PLACE.sub(lambda found: found[0][:1] if found[1] is None else values[found[1]], word)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
