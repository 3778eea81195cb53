"""The reference of the command line, made from the commands themselves."""

import re
from typing import Any

from ostinato.cli.commands import COMMANDS, loaded

HEAD = """# Commands

Every command of `ostinato`, with all its arguments and options. This page is made from the program itself, so it says
the same as `ostinato COMMAND --help`. [The command line](../command-line.md) shows by examples how commands work
together.

"""
MARKUP = re.compile(r"\[/?(?:bold|dim|italic)\]")


def page() -> str:
    """The whole page, in Markdown."""
    return HEAD + contents() + "".join(command(name) for name in COMMANDS)


def contents() -> str:
    """A table of all commands."""
    rows = (f"| [`{name}`](#ostinato-{name}) | {plain(entry.line)} |\n" for name, entry in COMMANDS.items())
    return "| command | what it does |\n|---|---|\n" + "".join(rows) + "\n"


def command(name: str) -> str:
    """One command: what it does, how it is called, its arguments and options."""
    found = loaded(name)
    return f"## ostinato {name}\n\n{usage(name, found)}{prose(found.help)}\n\n{options(found)}\n"


def usage(name: str, found: Any) -> str:
    """How it is called."""
    arguments = [called(each) for each in found.params if each.param_type_name == "argument"]
    words = [f"ostinato {name}", *(each if needed else f"[{each}]" for each, needed in arguments), "[OPTIONS]"]
    return f"```text\n{' '.join(words)}\n```\n\n"


def called(argument: Any) -> tuple[str, bool]:
    """An argument's name as help shows it, and whether it has to be given."""
    several = "…" if argument.nargs == -1 else ""
    return (argument.metavar or argument.name.upper()) + several, argument.required


def prose(text: str | None) -> str:
    """A command's own words; its examples as a block."""
    parts = plain(text or "").split("\n\n")
    written: list[str] = []
    for part in parts:
        if part.startswith("  "):
            lines = "\n".join(line.strip().strip("`") for line in part.splitlines())
            if written and written[-1].endswith("```"):
                written[-1] = written[-1].removesuffix("```") + f"{lines}\n```"
            else:
                written.append(f"```text\n{lines}\n```")
        else:
            written.append(part)
    return "\n\n".join(written)


def options(found: Any) -> str:
    """All arguments and options as a table."""
    context = found.context_class(found)
    shown = [each for each in found.params if not getattr(each, "hidden", False) and each.name != "help"]
    rows = "".join(f"| {names(each, context)} | {cell(each.help)} | {default(each)} |\n" for each in shown)
    return f"| argument or option | meaning | default |\n|---|---|---|\n{rows}" if rows else ""


def names(parameter: Any, context: Any) -> str:
    """What is typed for a parameter."""
    if parameter.param_type_name == "argument":
        return f"`{called(parameter)[0]}`"
    typed = parameter.get_help_record(context)[0].replace("|", "\\|").replace(" range>", ">")
    return " / ".join(f"`{each.strip()}`" for each in typed.split(" / "))


def default(parameter: Any) -> str:
    """What holds where it is not given."""
    value = parameter.default
    if parameter.required:
        return "needed"
    if value in (None, False) or value == [] or callable(value):
        return ""
    if value is True:
        return f"`{parameter.opts[0]}`"
    return f"`{getattr(value, 'value', value)}`"


def plain(text: str) -> str:
    """Without the markup of the terminal."""
    return MARKUP.sub("`", text).replace("\\[", "[")


def cell(text: str | None) -> str:
    """Words that may stand in a table."""
    return plain(text or "").replace("|", "\\|").replace("\n", " ").replace("*", "\\*").replace("<", "&lt;")
