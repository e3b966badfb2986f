"""Every key and channel name in Redis, so that no two parts of the store can collide unseen.

A name that ends in a colon is a prefix; its comment describes the rest. The names of the job
protocol are handed to its Lua scripts by `store.scripts`, so they are written here and nowhere
else.
"""

from typing import Final

# --- Jobs (must never be evicted) --------------------------------------------------------------
JOB: Final = "tritond:job:"  # <job id>: hash, exists while the job is queued or running
CALLERS: Final = "tritond:job-callers:"  # <job id>: set of the callers whose turns it takes
INTERESTS: Final = "tritond:job-interests:"  # <job id>: hash interest -> see scripts/lane.lua
RESULT: Final = "tritond:result:"  # <job id>: hash, exists (with a TTL) once the job is over
JOB_BATCHES: Final = "tritond:job-batches:"  # <job id>: hash batch id -> indices of its items
EVENTS: Final = "tritond:events:"  # <job or batch id>: stream, capped
AMENDMENT: Final = "tritond:sequel:"  # <job id>: exists (with a TTL) while more comes after its end
TURNS: Final = "tritond:turns:"  # <priority>:<lane>: zset of callers who wait, the next first
ROUNDS: Final = "tritond:rounds:"  # <priority>:<lane>: hash caller -> round of its last job
BACKLOG: Final = "tritond:backlog:"  # <priority>:<lane>:<caller>: zset of its queued jobs
QUEUED: Final = "tritond:queued:"  # <lane>: zset of all queued jobs in expected order
WAITING: Final = "tritond:waiting:"  # <lane>: zset queued job id -> when it was submitted, ms
JOB_BYTES: Final = "tritond:job-bytes"  # of the payloads of all living jobs
KEPT: Final = "tritond:kept-bytes:"  # <caller>: hash ten minutes since 1970 -> bytes that go then
KEPT_LIMIT: Final = "tritond:kept-bytes-limit"  # most bytes kept for a caller, as services set it
WAKE: Final = "tritond:wake:"  # <lane>: list of one token, while jobs wait and no worker was woken
WAKE_RESERVE: Final = "tritond:wake-reserve:"  # <lane>: the same for workers without a free slot
RUNNING: Final = "tritond:running:"  # <priority>:<lane>: hash caller -> its jobs that run
USED: Final = "tritond:used:"  # <lane>: hash caller -> ms, "" -> of the last whose turn came
PASSED: Final = "tritond:passed"  # hash lane -> jobs claimed while an aged batch job waited
LEASES: Final = "tritond:leases"  # zset job id -> end of its lease, ms
DEADLINES: Final = "tritond:deadlines"  # zset queued job id -> queue deadline, ms
REAPER: Final = "tritond:reaper"  # the process that reaps for all, lives as long as its term
COUNTERS: Final = "tritond:counters"  # hash name -> count, of the whole deployment
PROBE: Final = "tritond:probe"  # written to see whether the server writes
TOKEN: Final = "tritond:token"  # noqa: S105  (counter of fencing tokens)

# --- Launches and what they are made of (must never be evicted) -------------------------------
LAUNCH: Final = "tritond:launch:"  # <launch id>: hash caller, outputs
PROGRAM: Final = "tritond:program:"  # <program id>: hash caller, tapes
BATCH: Final = "tritond:batch:"  # <batch id>: hash caller, kind, plan, caches, left, ended:<state>
BATCH_ITEMS: Final = "tritond:batch-items:"  # <batch id>: hash index -> "<state> <record>"
SWEEP: Final = "tritond:sweep:"  # <sweep id>: hash caller
SWEEP_ROWS: Final = "tritond:sweep-rows:"  # <sweep id>: hash index -> row as JSON
SWEEP_JOBS: Final = "tritond:sweep-jobs:"  # <sweep id>: hash index -> job that it waits for
LIVING_SWEEPS: Final = "tritond:living-sweeps:"  # <caller>: zset sweep id -> when it began, ms
LISTED: Final = "tritond:listed:"  # <collection>:<caller>: zset job or batch id -> ms
EQUAL: Final = "tritond:equal:"  # <SHA-256 of caller and job>: id of the job that equal ones join
IDEMPOTENCY: Final = "tritond:idempotency:"  # <caller>:<SHA-256 of the client's key>: JSON
EVALUATION_SEEDS: Final = "tritond:evaluation-seeds"  # bytes that seeds of tasks follow from
EVALUATION: Final = "tritond:evaluation:"  # <caller>:<evaluator>:<SHA-256 of the task's name>: JSON
TENSOR: Final = "tritond:tensor:"  # <caller>:<digest>: bytes, lives as long as the upload
EXPECTED_USED: Final = "tritond:expected-used:"  # <caller>: zset key of an answer -> last use, ms
EXPECTED_SIZES: Final = "tritond:expected-sizes:"  # <caller>: hash key of an answer -> bytes
STATE: Final = "tritond:page-state:"  # <namespace>:<digest>: zstd frame
STATE_SHORT: Final = "tritond:page-state-short:"  # <namespace>:<first digits>: digest
STATE_HOLDERS: Final = "tritond:page-state-holders:"  # <namespace>:<digest>: set of callers
STATES_STORED: Final = "tritond:page-states-stored:"  # <caller>: zset <namespace>:<digest> -> ms
STATES_SIZES: Final = "tritond:page-states-sizes:"  # <caller>: hash <namespace>:<digest> -> bytes
TENSOR_BYTES: Final = "tritond:tensor-bytes:"  # <caller>: zset digest -> bytes

# --- Channels ----------------------------------------------------------------------------------
FINISHED: Final = "tritond:finished"  # message: job or batch id
HAPPENED: Final = "tritond:happened"  # message: id of the job or batch that has a new event
REVOKED: Final = "tritond:revoked"  # message: "<cancelled|lost> <token> <job id>"
INVALIDATED: Final = "tritond:invalidated"  # message: compile key
API_KEYS_CHANGED: Final = "tritond:api-key-made-or-revoked"  # message: nothing

# --- Workers, toolchains, API keys (must never be evicted) -------------------------------------
WORKER: Final = "tritond:worker:"  # <worker id>: JSON, lives as long as its heartbeat
WORKERS: Final = "tritond:workers"  # set of worker ids
TOOLCHAINS: Final = "tritond:toolchains"  # hash toolchain id -> JSON
TOOLCHAINS_OFFERED: Final = "tritond:toolchains-offered"  # sorted set of ids by turn
TOOLCHAIN_TURN: Final = "tritond:toolchain-turn"  # counts offers
DEFAULT_TOOLCHAIN: Final = "tritond:toolchain-default"  # toolchain id
TARGETS_TRIED: Final = "tritond:targets-tried:"  # <what was tried, where>: targets, by blanks
DEVICES: Final = "tritond:devices"  # set of device classes that were ever here
REFERENCES: Final = "tritond:references"  # set of "<language> <toolchain id or device class>"
PROGRAMS: Final = "tritond:programs-recorded"  # set of toolchain ids that programs were offered on
PROVERS: Final = "tritond:provers"  # set of ids of toolchains whose workers also prove kernels
PROGRAM_DEVICES: Final = "tritond:programs-devices"  # set of "<toolchain id> <device class>"
TOOLS: Final = "tritond:tools"  # set of "<check or profile> <device class>"
GPU_LIMITS: Final = "tritond:gpu-limits"  # hash caller -> GPU seconds that it may use in an hour
GPU_MINUTES: Final = "tritond:gpu-minutes:"  # <caller>: hash minute since 1970 -> GPU seconds
REQUEST_RATE: Final = "tritond:request-rate:"  # <caller>: when its requests so far are due, us
USAGE: Final = "tritond:usage:"  # <day>: hash "<what> <caller>" -> amount
API_KEYS: Final = "tritond:api-keys"  # hash [expiring:]<SHA-256 of the secret> -> JSON
API_KEY_DATES: Final = "tritond:api-key-dates"  # hash field of API_KEYS -> JSON

# --- Cache (may be evicted) --------------------------------------------------------------------
BLOB: Final = "tritond:blob:"  # <digest>: zstd frame
BLOB_READERS: Final = "tritond:blob-readers:"  # <digest>: set of namespaces, goes with the blob
COMPILATION: Final = "tritond:compilation:"  # <compile key>: hash record, request, blobs
REQUEST_ALIAS: Final = (
    "tritond:meaning:"  # <digest of a request>: "<compile key> <stages to include>"
)
EXPECTED: Final = "tritond:expected:"  # <caller>:<key of a reference's answer>: hash value
CACHE_USED: Final = "tritond:cache-used"  # zset cache key -> last use, s
CACHE_SIZES: Final = "tritond:cache-sizes"  # hash cache key -> bytes
CACHE_BYTES: Final = "tritond:cache-bytes"  # sum of CACHE_SIZES


def owner_prefix(noun: str) -> str:
    """Return the prefix of the owners of a kind's jobs: behind it a job id; a string, caller."""
    return f"tritond:{noun}:"


def derived_prefix(level: str) -> str:
    """Return the prefix of the records of one `level` of derived results, such as `front`."""
    return f"tritond:{level}:"
