"""What the tests of stops share: the carriers, a client, and lines of kernels by their marks."""

import inspect

from cudasim.launch import stops

RUNS = {
    "compiled": {"mode": "native"},
    "fibers": {"mode": "native", "carrier": "fiber"},
    "python": {"mode": "python"},
}


def line_of(kernel, mark):
    """The line of the kernel, or device function, that ends with this comment."""
    lines, first = inspect.getsourcelines(kernel.py_func)
    (found,) = [first + index for index, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
    return found


class Client:
    """A handler made of two functions. What fails in it fails the test, because it ends the launch."""

    def __init__(self, begins=lambda launch: None, at_stop=lambda launch: None):
        self.begins, self.at_stop = begins, at_stop
        self.stops = 0

    def launch_begins(self, launch):
        self.begins(launch)

    def stopped(self, launch):
        self.stops += 1
        self.at_stop(launch)


def stop_at(kernel, *marks):
    """What a client does as the launch begins: threads stop at these lines of the kernel."""

    def begins(launch):
        for mark in marks:
            launch.stop_at(kernel.py_func.__code__.co_filename, line_of(kernel, mark))

    return begins


def place(launch, thread):
    """In the innermost function."""
    return stops.location(launch, thread)[0]
