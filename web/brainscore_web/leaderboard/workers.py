"""Call functions in several processes where that is faster."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

_FEW_RECORDS = 5_000
"""With fewer records, a build finishes before a second process has started."""

_AHEAD = 2
"""Tasks that wait for each process. More would only use memory."""

_VARIABLES = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**27),
}
"""One thread for linear algebra; and glibc keeps the memory of arrays, since new pages take a sixth of the time."""

_MODULES = ["brainscore_web.leaderboard.computing", "brainscore_web.leaderboard.writing", "scipy.special"]
"""Modules imported once and shared by all processes."""

Task = TypeVar("Task")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class Workers:
    """Processes for one build, one per processor if None; with one or with few records, everything runs in this one."""

    def __init__(self, processes: int | None, n_records: int) -> None:
        self.processes = 1 if n_records <= _FEW_RECORDS else processes or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        if self.processes > 1:
            context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
            if os.name == "posix":
                context.set_forkserver_preload(_MODULES)
            self._pool = ProcessPoolExecutor(self.processes, mp_context=context)
            self._start(self._pool)
        return self

    def _start(self, pool: ProcessPoolExecutor) -> None:
        """Start all processes with `_VARIABLES`, which libraries read when they are loaded."""
        previous = {name: os.environ.get(name) for name in _VARIABLES}
        os.environ.update(_VARIABLES)
        try:
            for future in [pool.submit(os.getpid) for _ in range(self.processes)]:
                future.result()
        finally:
            for name, value in previous.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=kind is not None)

    def submit(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> Future[Result]:
        """Call a function of a module in another process, or at once in this one."""
        if self._pool is not None:
            return self._pool.submit(function, *arguments, **options)
        future: Future[Result] = Future()
        future.set_result(function(*arguments, **options))
        return future

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield each task's result, in order; tasks are taken as they are needed."""
        waiting: deque[Future[Result]] = deque()
        for task in tasks:
            waiting.append(self.submit(function, task))
            if len(waiting) > (_AHEAD * self.processes if self._pool is not None else 0):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
