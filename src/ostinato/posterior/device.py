"""Where what has the size of the candidate set is computed: `device="cuda"`."""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from ostinato.errors import InvalidSetting, installing

Precision = Literal["single", "double"]
ON_THE_PROCESSOR = "torch"  # PyTorch without a GPU: to try what runs on one


@dataclass(frozen=True)
class Device:
    """A GPU, as PyTorch names it. double: whether everything is in double precision there."""

    name: str
    double: bool = False

    def bytes_for(self, candidates: int, columns: int, *, grid: bool = False) -> int:
        """What so many candidates take there: features (of a grid none), mean and variance."""
        return (8 if self.double else 4) * ((0 if grid else columns) + 2) * candidates


def read_device(device: Any, precision: Precision, *, here: bool = True) -> Device | None:
    """The device of this name, where it can be used; None for the processor. here: whether it is to be on this machine.

    Workers find out for themselves.
    """
    if precision not in ("single", "double"):
        raise InvalidSetting(f"precision={precision!r} is not one: give 'single' or 'double'.")
    if device is None or device == "cpu":
        return None
    if not isinstance(device, str) or not (device == ON_THE_PROCESSOR or device.split(":")[0] == "cuda"):
        raise InvalidSetting(f"device={device!r} is not a device: give 'cuda', 'cuda:1' or 'cpu'.")
    found = Device("cpu" if device == ON_THE_PROCESSOR else device, precision == "double")
    if here:
        check_there(found)
    return found


def check_there(device: Device) -> None:
    """An error where a device cannot be used on this machine."""
    if find_spec("torch") is None:
        raise InvalidSetting(f"device={device.name!r} needs PyTorch, which is not installed: {installing('gpu')}.")
    if device.name != "cpu":
        _check_cuda(device.name)


def _check_cuda(name: str) -> None:
    torch: Any = import_module("torch")
    if not torch.cuda.is_available():
        raise InvalidSetting(
            f"device={name!r}: PyTorch finds no GPU here. Leave device out to compute on the processor."
        )
    number = name.partition(":")[2]
    if number and not (number.isdigit() and int(number) < torch.cuda.device_count()):
        raise InvalidSetting(
            f"device={name!r} is not there: PyTorch finds {torch.cuda.device_count()} GPU(s), from cuda:0."
        )
