"""What is said where the library that an integration is for is not installed."""

from ostinato.errors import MissingSetting, installing


def missing(library: str, extra: str, error: ImportError) -> MissingSetting:
    """The error for a library that cannot be imported. A package that it needs itself is named too."""
    absent = (error.name or extra).partition(".")[0]
    what = library if absent == extra else f"{library} with all that it imports ({absent} is missing)"
    return MissingSetting(f"ostinato.integrations.{extra} needs {what}: {installing(extra)}.")
