"""ExecuTorch: read its images and programs."""

from __future__ import annotations

from sizeguard.runtimes.runtime import Runtime


class ExecuTorch(Runtime):
    """ExecuTorch."""

    name = "executorch"
    namespaces = ("torch::executor", "executorch::runtime", "et_kernel")


RUNTIME = ExecuTorch()
