"""A Redis with the settings of deploy/redis, on a Unix socket, for those who test with one."""

import os
import subprocess

from conftest import wait_for

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "redis",
                      "pyasc.conf")


class Redis:
    """Runs from the start to stop(); start() begins it again, with nothing in it."""

    def __init__(self, directory, *flags):
        self.socket = os.path.join(directory, "redis.sock")
        self.command = ["redis-server", CONFIG, "--port", "0", "--unixsocket", self.socket,
                        "--dir", str(directory), *flags]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        wait_for(lambda: self.cli("ping") == "PONG", "redis to answer")

    def cli(self, *arguments, **kw):
        return subprocess.run(["redis-cli", "-s", self.socket, *arguments], capture_output=True,
                              text=True, check=False, **kw).stdout.strip()

    def stop(self):
        self.process.kill()
        self.process.wait()
