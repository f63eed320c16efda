"""Calls code of plugins so that whatever it does, the caller goes on.

Each call runs in a thread of its own with a deadline, because a thread that hangs can be left behind
and one that waits cannot be helped. What the code raises, `SystemExit` and `KeyboardInterrupt` among
it, becomes a `Fault`; a real Ctrl-C reaches the waiting thread as ever. What it prints goes to stderr.

This keeps faults of plugins apart; it does not confine them. Plugins are Python code with all rights.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, ClassVar, Final, TextIO, TypeVar, cast

from capgate.plugins.calls import Fault

__all__ = ["DEADLINE", "Caller"]

#: Seconds that a call may take unless the config says otherwise.
DEADLINE: Final = 5.0

T = TypeVar("T")


class Caller:
    """Calls the code of one plugin.

    A plugin that has overrun its deadline is not called again before that call has come back, so a
    hanging plugin costs one thread and one deadline, not one for each decision.
    """

    __slots__ = ("_deadline", "_overrun")

    def __init__(self, deadline: float = DEADLINE):
        self._deadline = deadline
        self._overrun: list[_Job] = []

    def call(self, function: Callable[[], T]) -> T:
        """What `function` returns.

        Raises:
            Fault: it raised, or took longer than the deadline, or an earlier call still does.
        """
        if self._overrun:
            self._overrun = [job for job in self._overrun if not job.finished]
        if self._overrun:
            raise Fault("plugin-hung", "is still busy with an earlier call that overran its deadline")
        job = _Job(function)
        try:
            _free_worker().jobs.put(job)
        except RuntimeError:
            raise Fault("plugin-raised", "could not be called, as no thread can be started") from None
        if not job.done.acquire(timeout=self._deadline):
            self._overrun.append(job)
            raise Fault("plugin-hung", f"did not return within {self._deadline:g} seconds")
        if job.fault is not None:
            raise Fault("plugin-raised", f"raised {job.fault}")
        return cast(T, job.result)


class _Job:
    """One call, its outcome, and a lock that is free once there is one."""

    __slots__ = ("done", "fault", "finished", "function", "result")

    def __init__(self, function: Callable[[], Any]):
        self.function = function
        self.result: Any = None
        self.fault: str | None = None
        self.finished = False
        self.done = threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:  # noqa: BLE001 - the end of the thread, where nobody else is told
            self.fault = _described(error)
        self.finished = True


class _Worker(threading.Thread):
    """A thread that runs one job after another. It never keeps the process alive."""

    def __init__(self) -> None:
        super().__init__(name="capgate-plugin", daemon=True)
        self.process = os.getpid()
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.start()

    def run(self) -> None:
        _diverted.here = True
        while True:
            job = self.jobs.get()
            _Diversion.begin()
            job.run()
            _Diversion.end()
            # Idle before the caller hears of it, so that its next call finds this thread.
            _idle.append(self)
            job.done.release()


#: Workers that wait for a job.
_idle: Final[list[_Worker]] = []
_diverted: Final = threading.local()


def _free_worker() -> _Worker:
    try:
        worker = _idle.pop()
        while worker.process != os.getpid():  # Threads do not survive a fork.
            worker = _idle.pop()
    except IndexError:
        return _Worker()
    return worker


def _described(error: BaseException) -> str:
    """The type and the text of `error`; its text comes from plugin code, which may fail in turn."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - plugin code again
        text = "its text cannot be read"
    text = "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split())[:200])
    kind = type(error).__name__
    return f"{kind}: {text}{_place(error)}" if text else f"{kind}{_place(error)}"


def _place(error: BaseException) -> str:
    """Where `error` was raised, to help the author of the plugin."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return f" ({os.path.basename(last.tb_frame.f_code.co_filename)}, line {last.tb_lineno})" if last else ""


class _Diversion:
    """Stands in for ``sys.stdout`` while plugin code runs; other threads notice nothing."""

    _running = 0
    _lock = threading.Lock()
    _last: ClassVar[_Diversion | None] = None

    def __init__(self, stdout: Any):
        self._stdout = stdout

    def close(self) -> None:
        """Closes standard output, unless it is plugin code that asks: then nothing is closed."""
        if not getattr(_diverted, "here", False):
            self._stdout.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if getattr(_diverted, "here", False) else self._stdout, name)

    @classmethod
    def begin(cls) -> None:
        with cls._lock:
            cls._running += 1
            if not isinstance(getattr(sys, "stdout", None), cls):
                cls._last = cls(sys.stdout)
                sys.stdout = cast(TextIO, cls._last)

    @classmethod
    def end(cls) -> None:
        """Puts standard output back, also where plugin code has taken it away."""
        with cls._lock:
            cls._running -= 1
            stdout: object = getattr(sys, "stdout", None) or cls._last
            if isinstance(stdout, cls):
                sys.stdout = cast(TextIO, cls._last if cls._running else stdout._stdout)
