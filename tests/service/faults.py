#!/usr/bin/env python3
"""Runs the tests of the 32 faults and prints the list: number, fault, tests, pass or fail.

    PYASC_BUILD=build/release /usr/bin/python3 tests/service/faults.py

Ends with 1 when a fault has a failing test. A fault without a test is said to have none.
"""

import glob
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("PYASC_BUILD") or os.path.join(HERE, "../../build/release"))

FAULTS = {
    1: "the fleet recompiles one key: no in-flight state across daemons",
    2: "the map of flights grows: entries stay after an error",
    3: "one cancel repeats the work or fails those who wait",
    4: "those who wait see success after a failure",
    5: "a truncated object is cached though the compiler reported success",
    6: "disk full, and the cache is poisoned",
    7: "the time of disk reads is not in the histograms",
    8: "an overloaded daemon is thought dead and a second one started",
    9: "one passing error is remembered for minutes",
    10: "jobs wait for a device that does not exist",
    11: "an upload that was cut off counts as complete",
    12: "one writer's record with another's metadata",
    13: "processes that share a directory disturb each other",
    14: "a kill between writes: serves hits and never writes again",
    15: "hits across toolchains of one version string",
    16: "a crash at a record of a newer schema",
    17: "the index has it, the file is gone",
    18: "at its cap the cache blocks",
    19: "capacity is never given back after an error",
    20: "a device leased to a dead runner is never reclaimed",
    21: "busy while idle",
    22: "orphans of killed clients and workers",
    23: "a hung device has a misleading error, and waiting counts as running",
    24: "a device's health goes one way only",
    25: "measurements are off: warm-up, caches, flushes",
    26: "a job that never ends is counted as done and stops the rest",
    27: "a probe in a busy queue kills good daemons",
    28: "memory grows with calls that flood in and readers that stall",
    29: "a crash loop after a kill or a full disk",
    30: "a burst of reads evicts everything from Redis",
    31: "one series a key",
    32: "a client dies when Redis goes away: SIGPIPE",
}


def python_results():
    report = os.path.join(BUILD, "tests", "faults.xml")
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "test_fault_",
                    f"--junitxml={report}", *sorted(glob.glob(os.path.join(HERE, "test_*.py")))],
                   env={**os.environ, "PYASC_BUILD": BUILD}, stdout=subprocess.DEVNULL, check=False)
    for case in xml.parse(report).iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        state = "FAIL" if bad else "skipped" if case.find("skipped") is not None else "pass"
        for number in re.findall(r"fault_(\d+)", case.get("name")):
            yield int(number), case.get("name"), state


def gtest_results():
    for program in ("disk_tier_test", "client_cpp_test"):
        path = os.path.join(BUILD, "tests", program)
        if not os.path.exists(path):
            continue
        out = subprocess.run([path, "--gtest_filter=*.Fault*"], capture_output=True, text=True,
                             check=False).stdout
        for state, name in re.findall(r"^\[ *(OK|FAILED) *\] (\S+\.Fault\S+) \(", out, re.M):
            number = re.search(r"Fault(\d+)", name)[1]
            yield int(number), name, "pass" if state == "OK" else "FAIL"


def main():
    by_number = {}
    for number, name, state in [*python_results(), *gtest_results()]:
        by_number.setdefault(number, []).append((name, state))
    failed = False
    for number, fault in FAULTS.items():
        tests = by_number.get(number, [])
        states = [s for _, s in tests if s != "skipped"]
        verdict = "no test" if not states else "FAIL" if "FAIL" in states else "pass"
        failed |= verdict == "FAIL"
        print(f"{number:2}  {verdict:8} {len(states):2} tests  {fault}")
        for name, state in tests:
            if state == "FAIL":
                print(f"        {name}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
