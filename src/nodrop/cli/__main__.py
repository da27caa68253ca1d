"""``python -m nodrop.cli``."""

import sys

from nodrop.cli import main

sys.exit(main())
