"""Test that the key of a build changes with the tools that its commands find."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.toolchains.host import host_toolchain


@pytest.mark.parametrize(
    ("command", "name"), [("tool", "tool"), ("env tool", "tool"), ("true", "clang++")]
)
def test_a_wrapper_that_adds_options_is_another_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    """Commands call it by the variables, or by its own name."""
    for variable in ("CC", "CXX", "LD"):
        monkeypatch.setenv(variable, command)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    tool = tmp_path / name
    tool.write_text("#!/bin/sh\necho tool 1.0\n")
    tool.chmod(0o755)
    before = host_toolchain.__wrapped__()
    assert host_toolchain.__wrapped__() == before
    tool.write_text("#!/bin/sh\necho tool 1.0  # calls the compiler with -O0\n")
    assert host_toolchain.__wrapped__() != before


def test_a_command_that_no_shell_can_read_is_no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CC", "CXX", "LD"):
        monkeypatch.setenv(name, "'tool")
    assert host_toolchain.__wrapped__()
