"""What the client does: several threads, four entities, each with a kind of limit, and one of them driven hot."""

import threading
import time
from collections import Counter
from datetime import timedelta

from zae_limiter import Limit, RateLimitExceeded, SyncRateLimiter, SyncRepository

RESOURCE = "gpt-4"
STACK = "rate-limits"
THREADS = 4

DRIP = Limit.per_minute("rpm", 300)
CALENDAR = Limit.quota("daily", 100, cron="0 0 * * *")
SESSION = Limit.quota("session", 100, reset_after=timedelta(hours=5))
LIMITS = {
    "drip": [DRIP],
    "calendar": [CALENDAR],
    "session": [SESSION],
    "hot": [
        Limit.per_minute("rpm", 1_000_000),
        Limit.quota("daily", 1_500, cron="0 0 * * *"),
        Limit.quota("session", 1_450, reset_after=timedelta(hours=5)),
    ],
}
# A shard's write budget: as many admissions without a slow path, and the client doubles.
WRITE_BUDGET = 1_000


class Workload:
    def __init__(self, endpoint):
        self.endpoint, self.admitted, self.refused, self.lock = endpoint, Counter(), Counter(), threading.Lock()
        self.took_s = 0.0

    def limiter(self):
        return SyncRateLimiter(repository=SyncRepository.connect("default", stack=STACK, region="eu-central-1", endpoint_url=self.endpoint))

    def configure(self):
        with self.limiter() as limiter:
            for entity, limits in LIMITS.items():
                limiter.create_entity(entity)
                limiter.set_limits(entity, limits, resource=RESOURCE)

    def drive(self, attempts):
        """So many attempts at each entity, spread over the threads, a token of every limit each."""
        failures = []

        def work():
            try:
                with self.limiter() as limiter:
                    for nth in range(max(attempts.values()) // THREADS):
                        for entity, wanted in attempts.items():
                            if nth < wanted // THREADS:
                                self.attempt(limiter, entity)
            except Exception as error:  # A thread's end would otherwise go unnoticed.
                failures.append(error)

        begun = time.monotonic()
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.took_s += time.monotonic() - begun
        if failures:
            raise failures[0]

    def attempt(self, limiter, entity):
        try:
            with limiter.acquire(entity, RESOURCE, {limit.name: 1 for limit in LIMITS[entity]}):
                pass
        except RateLimitExceeded:
            with self.lock:
                self.refused[entity] += 1
        else:
            with self.lock:
                self.admitted[entity] += 1
