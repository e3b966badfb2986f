"""`python -m tritonc`, for where the command is not on the path."""

import sys

from tritonc.cli.main import main

sys.exit(main())
