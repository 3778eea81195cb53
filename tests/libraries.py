"""Libraries that only some machines have: `make test-integrations` installs them."""

import warnings

import pytest


def needed(name):
    """A library, for tests that are skipped where it is missing. What it warns of while it is imported is its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(
            name, reason=f"{name} is not installed: make test-integrations", exc_type=ImportError
        )
