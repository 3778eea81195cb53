"""What is said where the library that an integration is for is not installed."""

from ostinato.errors import MissingSetting


def missing(library: str, extra: str, error: ImportError) -> MissingSetting:
    """The error for a library that cannot be imported. A package that it needs itself is named too."""
    what = library if error.name in (None, extra) else f"{library} and what it imports ({error.name})"
    return MissingSetting(f'ostinato.integrations.{extra} needs {what}: pip install "ostinato[{extra}]"')
