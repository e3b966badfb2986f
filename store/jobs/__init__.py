# Runs in: service, worker
"""The job protocol: how callers, workers and reapers share work without ever losing or doubling it.

A job is one piece of work with an id that identifies it (for a compilation: its compile key), so
equal work is one job. Every arrow below is one Lua script, hence atomic::

                    submit (miss)
                         |
                         v            claim
      +-------------> queued ----------------------> running ---+
      |                 |  ^                          | | |     | renew
      | submit (join)   |  |  release, reap (lease    | | |<----+
      +-----------------+  |  over)                   | | |
                        |  +--------------------------+ | |
        cancel (last    |                               | | finish (token valid)
        interest), reap |       cancel (last interest)  | | by the worker, or by the
        (overdue: the   |   +---------------------------+ | reaper after three deliveries
        reaper claims   |   |                             |
        and finishes)   v   v                             v
                      over: a result with a time to live; never together with a job

- *Fencing*: a claim carries a token that only counts until the job is taken from the attempt. A
  late worker's `finish` is refused, its `renew` returns `lost` or `cancelled`, and `Revocations`
  reports it at once.
- *Leases* are counted by the server's clock. `reap` may run in any number of processes.
- *Interests* keep a job alive: the standing one of each caller who asked, that of a batch, and
  one of each request that waits now. The longest timeout of them counts, also for an attempt that
  runs.
- *Fair turns*: see `scripts/lane.lua`. Interactive jobs go before batch jobs of all lanes of a
  worker.
- *Results* are answered to everybody until they expire; only a reusable one answers a later submit.
- *Waiting*: `ResultWaiter` reads the result again every second, so a lost publication costs a
  second at most.

The state of all this is in sorted sets and hashes, whose keys are listed in `store.keys`.
"""
