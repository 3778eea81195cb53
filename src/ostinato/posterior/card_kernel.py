# pyright: basic, reportMissingImports=false
"""Kernels of users' own on a GPU: which of them it computes, and which it has to wait for."""

import numpy as np
import torch

from ostinato.arrays import Matrix
from ostinato.errors import SlowKernel, notify
from ostinato.kernels import Kernel
from ostinato.kernels.foreign_arrays import for_arrays_like, numpy_parts
from ostinato.kernels.form import has_product_form
from ostinato.posterior.device import Device

TRIED = 32  # candidates on which a kernel is tried


def for_card(kernel: Kernel, features: Matrix, device: Device) -> Kernel:
    """A kernel for tensors on a card: parts that know NumPy alone get NumPy arrays there too."""
    places = np.unique(np.linspace(0, len(features) - 1, TRIED).astype(np.int64))
    with torch.device(device.name):  # for what kernels make
        return for_arrays_like(kernel, torch.from_numpy(features[places]).to(device.name))


def say_what_waits(kernel: Kernel, features: Matrix, device: Device) -> None:
    """A warning where covariances are computed on the processor, and copied to a card."""
    parts = [] if has_product_form(kernel, features.shape[1]) else numpy_parts(for_card(kernel, features, device))
    if parts:
        notify(
            f"device={device.name!r}: {parts[0].kernel!r} takes NumPy arrays alone ({parts[0].reason}). Its "
            "covariances are computed on the processor and copied to the card, 8 bytes for each candidate with each "
            "that was measured; choices are the same. To compute them on the card, write it with operators and with "
            "xp = array_api_compat.array_namespace(X) in place of numpy.",
            SlowKernel,
        )
