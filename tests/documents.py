"""The examples of the documents: cut out of a page, run from top to bottom, and compared with the output it shows.

A page is self-contained: its blocks run in one namespace and one folder.

    ```python             is run; a ```text block right after it shows what it prints
    ```python lab.py      is a file of that name (so are csv, toml, js and r blocks that have a name)
    ```console            holds commands ("$ …", continued by "> …"), each with what it prints to either stream
    ```console node       the same, where Node.js is installed (so is Rscript, where R is)
    ```console sample     the same; what they print is not compared
    ```python with ax     is run where that library is installed (so are console blocks)
    ```console typed      holds one command and a dialogue: what follows a prompt was typed by a person

Numbers may differ from those shown, and so may the width of columns; "…" stands for anything. A command has to end
with 0. `python tests/documents.py docs/guide.md` writes the real output into a page.
"""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import warm

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"[-−+]?\d[\d,.]*(e[-+]?\d+)?")
PROGRESS = re.compile(r"^\d\d:\d\d:\d\d  \d.*\n", flags=re.MULTILINE)  # a line a minute
NOTE = re.compile(r"^(?:note: Measurement|outlier +measurement) .*\n?", flags=re.MULTILINE)
PROMPT = re.compile(r"^( +(?:[\d,]+ of [\d,]+|.* \(or skip\)): )(.*)$", flags=re.MULTILINE)
SURE = re.compile(r"the best of all with #% probability|within # of the best with #% probability")
HEAD = re.compile(r"(.*) \| head -(\d+)$", flags=re.DOTALL)
ANY = "…"
PROGRAMS = ("node", "Rscript")  # blocks that are run where these are installed
WITH = re.compile(r"with (\w+)")  # blocks that are run where this library is installed
KINDS = ("node", "Rscript", "sample", "typed")  # of console blocks


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words after it, and where its text stands in the page."""

    language: str
    words: str
    text: str
    start: int
    end: int


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page."""
    return [Block(m[1], m[2].strip(), m[3], m.start(3), m.end(3)) for m in BLOCK.finditer(page)]


@dataclass(frozen=True)
class Shown:
    """What a page shows and where, what was printed in truth, and whether that may be anything."""

    what: str
    shown: str
    printed: str
    start: int
    end: int
    kind: str = ""

    @property
    def right(self) -> bool:
        if self.kind == "sample":
            return bool(self.shown)
        pattern = re.escape(masked(self.shown)).replace(re.escape(ANY), ".*")
        return re.fullmatch(pattern, masked(self.printed), flags=re.DOTALL) is not None


def masked(text: str) -> str:
    """Without what may differ from run to run: numbers, the width of columns, progress, notes, how sure it is."""
    text = re.sub(r"[─\s]+", " ", NUMBER.sub("#", PROGRESS.sub("", NOTE.sub("", text)))).strip()
    return SURE.sub("as sure as it is", text).replace("# measurements", "# measurement")


def run_page(page: str, folder: Path) -> list[Shown]:
    """Run everything on a page, in a folder that is the current one; returns what it shows beside what was printed."""
    make_programs(folder)
    before = set(sys.modules)
    try:
        return list(run_blocks(page, folder, {"__name__": "__main__"}))
    finally:
        for name in {path.stem for path in folder.glob("*.py")} - before:
            sys.modules.pop(name, None)


def run_blocks(page: str, folder: Path, namespace: dict[str, object]) -> Iterator[Shown]:
    """One block after the other."""
    listed = blocks(page)
    for block, after in zip(listed, [*listed[1:], None], strict=True):
        if block.words in PROGRAMS and shutil.which(block.words) is None:
            assert not os.environ.get("OSTINATO_REQUIRE_SERVERS"), f"{block.words} is not installed"
            continue
        library = WITH.fullmatch(block.words)
        if library and importlib.util.find_spec(library[1]) is None:
            continue
        if block.words and block.words not in KINDS and not library:
            (folder / block.words).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            printed = run_python(block.text, namespace, forgiving=library is not None)
            if after and after.language == "text" and not page[block.end + 3 : after.start].strip("`tex \n"):
                yield Shown(block.text, after.text, printed, after.start, after.end)
        elif block.language == "console":
            yield from run_console(block)


def run_python(code: str, namespace: dict[str, object], *, forgiving: bool = False) -> str:
    """What a block of Python prints. forgiving: what the libraries of others warn of is not ours to mend."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        if forgiving:
            warnings.simplefilter("ignore")
        exec(compile(code, "<example>", "exec"), namespace)
    return printed.getvalue()


def run_console(block: Block) -> Iterator[Shown]:
    """Run the commands of a block, one after the other."""
    for m in re.finditer(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", block.text, flags=re.MULTILINE):
        command, shown = m[1].replace("\n> ", "\n").strip(), m[2]
        if block.words == "typed":
            typed = "".join(f"{line}\n" for _, line in PROMPT.findall(shown))
            printed, shown = run_shell(command, typed), PROMPT.sub(r"\1", shown)
        elif head := HEAD.match(command):  # cut off here: a command whose reader has gone would end with an error
            printed = "".join(run_shell(head[1]).splitlines(keepends=True)[: int(head[2])])
        else:
            printed = run_shell(command)
        place = block.start + m.start(2), block.start + m.end(2)
        yield Shown(command, shown, printed, *place, block.words)


def make_programs(folder: Path) -> None:
    """`ostinato` and `python`, first on the path."""
    programs = folder / ".programs"
    programs.mkdir()
    for name, words in (("ostinato", warm.command()), ("python", [sys.executable])):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"


def run_shell(command: str, typed: str = "") -> str:
    """A command in bash, with what is typed; what it prints to either stream."""
    call, both = ["bash", "-c", f"set -o pipefail\n{command}"], {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(call, text=True, input=typed, timeout=600, check=False, **both)
    stopped = bool(typed) and done.returncode == 130  # by q
    assert done.returncode == 0 or stopped, f"{command} ended with {done.returncode}: {done.stdout}"
    return done.stdout


def rewritten(page: str, found: list[Shown], *, numbers: bool = False) -> str:
    """The page with the real output, where it is not as shown; or with all numbers as they are now."""
    for each in sorted(found, key=lambda one: -one.start):
        stale = numbers and ANY not in each.shown and each.kind != "sample"
        if (stale or not each.right) and each.kind != "typed":
            text = "".join(f"{line.rstrip()}\n" for line in each.printed.strip("\n").split("\n") if line.strip())
            page = page[: each.start] + text + page[each.end :]
    return page


if __name__ == "__main__":
    os.environ["COLUMNS"] = "110"
    for name in (each for each in sys.argv[1:] if each != "--numbers"):
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = path.read_text(encoding="utf-8")
            found = run_page(text, Path(folder))
            for each in found:
                if not each.right:
                    print(f"--- {each.what}\n{each.shown}+++\n{each.printed}")
            path.write_text(rewritten(text, found, numbers="--numbers" in sys.argv), encoding="utf-8")
