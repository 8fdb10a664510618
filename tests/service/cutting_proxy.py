"""A proxy before a service that cuts connections in the middle of what the service sends."""

import socket
import threading


class CuttingProxy:
    """Listens on a Unix socket. Each of the first `cuts` connections breaks after `after` bytes from
    the service."""

    def __init__(self, path, target, cuts, after):
        self.address = f"unix:{path}"
        self.cut = 0
        self._target, self._cuts, self._after = target.removeprefix("unix:"), cuts, after
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            service = socket.socket(socket.AF_UNIX)
            service.connect(self._target)
            ends = (client, service)
            threading.Thread(target=self._pump, args=(client, service, None, ends),
                             daemon=True).start()
            threading.Thread(target=self._pump, args=(service, client, self._after, ends),
                             daemon=True).start()

    def _pump(self, source, sink, left, ends):
        try:
            while data := source.recv(65536):
                if left is not None and self.cut < self._cuts:
                    data = data[:left]
                    left -= len(data)
                sink.sendall(data)
                if left == 0 and self.cut < self._cuts:
                    self.cut += 1
                    break
        except OSError:
            pass
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
