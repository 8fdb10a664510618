"""pyasc: kernels in Python's syntax, compiled for Ascend by a service.

    import numpy as np
    import pyasc as asc

    @asc.kernel
    def saxpy(alpha: float, x: asc.tensor, y: asc.tensor):
        for i in asc.parallel_for(x.shape[0]):
            y[i] += alpha * x[i]

    x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    saxpy(2.0, x, y)
"""

from . import _stubs

try:
    _stubs.extend_path(__path__)
except ImportError:
    pass  # said when a service is needed: the reference interpreter needs none

from . import types as _types  # noqa: E402
from .errors import (CaptureError, CompileError, CompileWarning, KernelOnlyError,  # noqa: E402
                     PyascError, RunError, ServiceError)
from .kernel import Compiled, Kernel, kernel  # noqa: E402
from .profiler import Profiler  # noqa: E402
from .types import (bfloat16, bool_, constexpr, dims, float16, float32, float64, int8,  # noqa: E402
                    int16, int32, int64, tensor, uint8, uint16, uint32, uint64)
# The library's names shadow some of Python's from here on.
from .library import *  # noqa: E402,F403

bool = _types.bool_
__version__ = "0.1.0"
