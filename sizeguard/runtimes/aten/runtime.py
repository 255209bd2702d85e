"""ATen, PyTorch's operators on servers and in TorchScript: read its images and models."""

from __future__ import annotations

from sizeguard.runtimes.runtime import Runtime


class ATen(Runtime):
    """ATen. Its registration tables only have a few hundred operators of TorchScript."""

    name = "aten"
    namespaces = ("at::_ops", "at::native")
    names_are_enough = True


RUNTIME = ATen()
