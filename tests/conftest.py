"""Hypothesis profiles for all tests: no deadline (the machine is shared), and no randomness in CI."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("nodrop", deadline=None, max_examples=60)
settings.register_profile("nodrop-ci", settings.get_profile("nodrop"), derandomize=True, database=None)
settings.load_profile("nodrop-ci" if os.environ.get("CI") else "nodrop")
