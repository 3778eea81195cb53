"""Ctrl-C that waits."""

import os
import signal

import pytest

from ostinato.running.interrupts import Interrupts


def test_a_ctrl_c_that_had_to_wait_is_heard_once():
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), interrupts.released():
            pass
        with interrupts.released():  # what is under way can now be waited for
            pass
