"""ATen, PyTorch's operators on a server or in TorchScript: its images and models are read."""

from __future__ import annotations

from sizeguard.runtimes.runtime import Runtime


class ATen(Runtime):
    """ATen. Its registration tables hold a few hundred operators of TorchScript alone."""

    name = "aten"
    namespaces = ("at::_ops", "at::native")
    names_are_enough = True


RUNTIME = ATen()
