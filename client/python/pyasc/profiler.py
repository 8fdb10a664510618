"""`asc.Profiler`: collects the launches made while it is active, with their times."""

import threading

_local = threading.local()


def active():
    """The profilers that this thread is inside of."""
    return list(getattr(_local, "stack", ()))


class Launch:
    """One launch. `wall_us` is the whole call as the program saw it, `report` the service's
    pyasc.v1.ProfileReport; `kernel_us` is the device's own time, None when it was not measured;
    `target` is the driver that ran it and `simulated` says whether `kernel_us` is a model's."""

    def __init__(self, kernel, arguments, wall_us, report, sources):
        self.kernel, self.arguments, self.wall_us = kernel, arguments, wall_us
        self.report, self._sources = report, sources
        self.kernel_us = report.kernel_us if report.kernel_us > 0 else None
        self.target = report.launch.driver
        self.simulated = report.trust.source == "simulated"

    def __repr__(self):
        time = "not measured" if self.kernel_us is None else \
            f"{self.kernel_us:.1f} us{' simulated' if self.simulated else ''}"
        return f"<launch of {self.kernel}({self.arguments}): {time}>"

    def source(self, span):
        """'path:line' of a range in the report; "" without a position."""
        return f"{self._sources.path(span.file)}:{span.line}" if span.line else ""


class Profiler:
    """Use as `with asc.Profiler() as profiler:`; launches of this thread inside are measured.

    `launches` holds them in order, `report()` is a text about them, `clear()` forgets them.
    """

    def __init__(self):
        self.launches = []

    def __enter__(self):
        if not hasattr(_local, "stack"):
            _local.stack = []
        _local.stack.append(self)
        return self

    def __exit__(self, *_):
        _local.stack.remove(self)

    def clear(self):
        self.launches = []

    def add(self, kernel, arguments, seconds, report, sources):
        """For asc.kernel: records a launch."""
        from ._arrays import format_type
        shown = ", ".join(f"{name}={format_type(value)}" if hasattr(value, "shape")
                          else f"{name}={value!r}" for name, value in arguments.items())
        self.launches.append(Launch(kernel, shown, seconds * 1e6, report, sources))

    def report(self):
        """A table of kernels by target, the costliest first, and what binds each one's slowest
        launch. Times of a simulated target are the model's, whole calls are wall-clock time."""
        groups = {}
        for launch in self.launches:
            groups.setdefault((launch.kernel, launch.target), []).append(launch)

        def total(launches):
            return sum(launch.kernel_us or 0 for launch in launches)

        lines = [f"{'kernel':24} {'target':10} {'calls':>6} {'total':>12} {'mean':>12} "
                 f"{'min':>12} {'max':>12} {'whole calls':>12}"]
        ordered = sorted(groups.items(), key=lambda item: (-total(item[1]), item[0]))
        for (name, target), launches in ordered:
            times = [launch.kernel_us for launch in launches if launch.kernel_us is not None]
            cells = [sum(times), sum(times) / len(times), min(times), max(times)] if times else \
                [None] * 4
            cells.append(sum(launch.wall_us for launch in launches))
            lines.append(f"{name:24} {target:10} {len(launches):6} " + " ".join(map(_time, cells)))
        simulated = sorted({launch.target for launch in self.launches if launch.simulated})
        if simulated:
            lines.append(f"(times on {', '.join(simulated)} are simulated; whole calls are wall-clock "
                         "time on this machine)")
        for (name, target), launches in ordered:
            slowest = max(launches, key=lambda launch: launch.kernel_us or 0)
            verdict = slowest.report.verdict
            if not verdict.summary:
                continue
            lines.append(f"\n{name}({slowest.arguments}) on {target}: {verdict.summary}")
            for advice in verdict.advice[:3]:
                where = slowest.source(advice.range)
                gain = f"up to {advice.gain:.0%}: " if advice.gain > 0 else ""
                lines.append("  - " + gain + (f"{where}: " if where else "") + advice.text)
        return "\n".join(lines)


def _time(us):
    if us is None:
        return f"{'-':>12}"
    if us >= 1e6:
        return f"{us / 1e6:10.2f} s"
    if us >= 1e3:
        return f"{us / 1e3:9.2f} ms"
    return f"{us:9.1f} us"
