"""`python -m tritonc`, for installations whose commands are not on the path."""

import sys

from tritonc.cli.main import main

sys.exit(main())
