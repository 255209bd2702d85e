"""The predictor of the full build that tests of predictions share."""

from __future__ import annotations

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.predict.predictor import Predictor
from sizeguard.predict.what_if import predictor_of


@pytest.fixture(scope="module")
def predictor(full_build: Build) -> Predictor:
    """Predict sizes from the full build."""
    return predictor_of(full_build.image.parent)
