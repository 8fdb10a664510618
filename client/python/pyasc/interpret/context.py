"""What the library asks of its surroundings, for each thread."""

import threading


class Context(threading.local):
    """`translating`: above 0 while types are found and nothing is computed. `mixed`: the kernel's
    precision is 'mixed'."""

    def __init__(self):
        self.translating, self.mixed = 0, False


CONTEXT = Context()
