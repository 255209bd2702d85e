"""The recipe of an image that commands build."""

from __future__ import annotations

from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.project import BuildSteps, ImageFiles

FILES = ImageFiles("app")
STEPS = BuildSteps({"": FILES}, "make")
RECIPE = AnyBuildRecipe("a", "t", STEPS)
