import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e"), str(HERE.parent / "ascendc_twin")]

import cli  # noqa: E402

# The generated stubs.
sys.path.insert(0, str(cli.BIN.parent / "python"))
