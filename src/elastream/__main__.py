"""`python -m elastream` is `elastream`."""

import sys

from elastream.cli import main

if __name__ == "__main__":
    sys.exit(main())
