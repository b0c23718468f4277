import sys

from andante.cli import main

sys.exit(main())
