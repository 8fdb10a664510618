"""A device worker that never looks whether the device is still its own: what only pyascd can stop.

It speaks the worker protocol on descriptor 3. What it answers to a run is in a file named by the
variable CARELESS: "late FILE" (once the file is there, under the lease that it was given), "other"
(at once, under another lease) or "large" (at once, with outputs larger than they are).
"""

import os
import socket
import struct
import sys
import time

BUILD = os.environ["PYASC_BUILD"]
sys.path.insert(0, os.path.join(BUILD, "tests", "stubs"))

from pyasc.worker.v1 import worker_pb2  # noqa: E402


def exactly(peer, size):
    data = b""
    while len(data) < size:
        got, fds, _, _ = socket.recv_fds(peer, size - len(data), 64)
        for fd in fds:
            os.close(fd)
        if not got:
            sys.exit(0)
        data += got
    return data


def main():
    peer = socket.socket(fileno=3)
    while True:
        (size,) = struct.unpack("<I", exactly(peer, 4))
        request = worker_pb2.WorkerRequest.FromString(exactly(peer, size))
        reply = worker_pb2.WorkerReply(id=request.id)
        kind = request.WhichOneof("job")
        if kind == "describe_devices":
            reply.devices.devices.add(name="careless")
        elif kind == "run":
            reply.run.lease_token = request.run.lease_token
            with open(os.environ["CARELESS"]) as f:
                how = f.read().split()
            if how[0] == "other":
                reply.run.lease_token += 1
            if how[0] == "large":
                memory = [request.run.memory[o.memory_index] for o in request.run.outputs]
                reply.run.outputs.extend(bytes(m.bytes + 1) for m in memory)
            while how[0] == "late" and not os.path.exists(how[1]):
                time.sleep(0.005)
        else:
            reply.pong = True
        data = reply.SerializeToString()
        peer.sendall(struct.pack("<I", len(data)) + data)


main()
