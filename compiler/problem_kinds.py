"""Every kind of problem: a row for each slug. `make errors-page` writes its reference from them."""

from collections.abc import Mapping
from typing import Final

from compiler.slug import Fault, ProblemKind, Slug


def _failed(
    fault: Fault, title: str, cause: str, remedy: str, example: str, *, retryable: bool = False
) -> ProblemKind:
    """Return a kind that is the result of work: the answer's status is 200."""
    return ProblemKind(fault, title, cause, remedy, example, is_retryable=retryable)


def _refused(status: int, title: str, cause: str, remedy: str, example: str) -> ProblemKind:
    """Return a kind of refused request, which has to change."""
    return ProblemKind("request", title, cause, remedy, example, status)


def _busy(
    status: int, retry_after_s: int, title: str, cause: str, remedy: str, example: str
) -> ProblemKind:
    """Return a kind of request that the service cannot take now."""
    return ProblemKind(
        "service", title, cause, remedy, example, status, retry_after_s, is_retryable=True
    )


_COMPILATIONS: Final = {
    Slug.SYNTAX_ERROR: _failed(
        "source", "The source cannot be parsed",
        "Python cannot parse the source or one of `files`.",
        "Fix the line that `file` and `line` name.",
        "user.py:3: '(' was never closed",
    ),
    Slug.UNKNOWN_KERNEL: _failed(
        "request", "There is no such kernel in the source",
        "`kernel` names no @triton.jit function of the source, or the source has none.",
        "Use a name that the detail lists.",
        "there is no kernel 'ad' in the source; its jit functions are: add. Did you mean 'add'?",
    ),
    Slug.AMBIGUOUS_KERNEL: _failed(
        "request", "The source holds several kernels",
        "The request has no `kernel`, and more than one could be meant.",
        "Add `kernel` with one of the names in the detail.",
        "the source has 2 kernels: add, mul. Say which one to compile in `kernel`.",
    ),
    Slug.MISSING_CONSTEXPR: _failed(
        "request", "A constexpr parameter has no value",
        "A `tl.constexpr` parameter has neither a value in the request nor a default.",
        "Add it to `constexprs`.",
        "constexpr parameter `BLOCK` of `add` has no value: add it to `constexprs`",
    ),
    Slug.MISSING_TYPE: _failed(
        "request", "A parameter has neither type nor value",
        "A parameter of the kernel is in neither `signature` nor `constexprs`.",
        "Add its type to `signature`; a launch infers it from the argument.",
        'parameter `eps` of `norm` has neither a type … add for example "eps": "fp32"',
    ),
    Slug.EXTRA_ARGUMENT: _failed(
        "request", "The kernel has no such parameter",
        "The request names a parameter that the kernel does not have, or names it twice.",
        "Remove or rename it; the detail lists the kernel's parameters.",
        "kernel `add` has no parameter `n`. Its parameters are x_ptr, BLOCK.",
    ),
    Slug.MISSING_MODULE: _failed(
        "source", "The source imports a module that is not there",
        "The kernel needs a module that is neither posted nor part of Triton or Python.",
        "Post its file in `files`, or put what the kernel needs into the source. With `module`, "
        "`needs` lists the modules to post, or to list in `absent`.",
        "line 5: No module named 'helpers' (so 'act' is missing)",
    ),
    Slug.COMPILE_ERROR: _failed(
        "source", "The kernel does not compile",
        "Triton or Python refuses a line of the kernel.",
        "Fix the line that `file` and `line` name; `diagnostics` have hints.",
        "user.py:7:34: arange's range must be a power of 2",
    ),
    Slug.LOWERING_FAILED: _failed(
        "source", "A compiler pass failed",
        "A pass of Triton or LLVM cannot lower the kernel for this target.",
        "Look at the stages reached; try other options, another target or a newer Triton.",
        "failed to legalize operation 'tt.dot_scaled' that was explicitly marked illegal",
    ),
    Slug.ASSEMBLER_FAILED: _failed(
        "source", "The assembler refused the generated code",
        "ptxas or LLVM's assembler refuses the code, most often inline assembly.",
        "Read the diagnostics; fix `inline_asm_elementwise`, or name another target.",
        "ptxas: line 41: Unknown modifier '.foo'",
    ),
    Slug.COMPILER_CRASHED: _failed(
        "source", "The compiler crashed",
        "Triton's compiler crashed on the kernel.",
        "Change the kernel or its options, or try another version of Triton.",
        "Triton's compiler crashed (SIGABRT) in stage ttgir",
        retryable=True,
    ),
    Slug.OUT_OF_RESOURCES: _failed(
        "source", "The kernel needs more than the target has",
        "The kernel needs more shared memory, tensor memory or threads than a block may have.",
        "Use smaller tiles, fewer stages or fewer warps.",
        "the kernel has 80,211 operations in its IR; the limit is 80,000 operations.",
    ),
    Slug.COMPILE_TIMEOUT: _failed(
        "source", "The compilation ran out of time",
        "The compilation did not end within `timeout_s`, or the code at module level took more "
        "than 30 s of CPU time.",
        "Move work out of module level, use smaller tiles or fewer unrolled iterations, or raise "
        "`timeout_s`.",
        "The compilation did not finish within timeout_s = 60 s; it ran out of time in stage llir.",
        retryable=True,
    ),
    Slug.MEMORY_EXCEEDED: _failed(
        "source", "The compilation ran out of memory",
        "The compiler needs more memory than its process may use.",
        "Use smaller tiles or fewer unrolled iterations.",
        "The compiler ran out of memory in stage llir; smaller tiles need less.",
        retryable=True,
    ),
    Slug.SANDBOX_VIOLATION: _failed(
        "source", "The source tried what the sandbox forbids",
        "The source opened a file or socket, started or ended a process, or wrote too much output.",
        "Remove what the detail names: a kernel needs none of it.",
        "The source wrote more output than is allowed, so it was killed. Print less.",
        retryable=True,
    ),
    Slug.WORKER_LOST: _failed(
        "service", "The worker was lost several times",
        "Workers that had the job died or could not run it, or none took it in time.",
        "Post it again; if it happens often, give workers more memory or fewer slots.",
        "Three workers in a row died or gave up on this job. Post it again.",
        retryable=True,
    ),
    Slug.CANCELLED: _failed(
        "request", "Its caller cancelled it",
        "All callers that asked for it withdrew.",
        "Post it again if you still want it.",
        "Its caller cancelled the launch.",
        retryable=True,
    ),
    Slug.RESULT_TOO_LARGE: _failed(
        "request", "The result is too large",
        "The result of the job is larger than the limit.",
        "Ask for less at once: fewer cases, checks or returned values.",
        "The result has 9437184 bytes; the limit is 8388608. Ask for less at once: …",
    ),
}  # fmt: skip

_LAUNCHES: Final = {
    Slug.MISSING_ARGUMENT: _failed(
        "request", "A parameter has no argument",
        "A launch lacks an argument for a parameter without a default.",
        "Add it to `arguments`.",
        "parameter `n` of `add` has no argument and no default",
    ),
    Slug.ARGUMENT_MISMATCH: _failed(
        "request", "An argument is not of its parameter's type",
        "An argument's dtype is not that of the compilation's signature.",
        "Change the argument's dtype, or the type in `signature`.",
        "parameter `n` of `add` is annotated i32, its argument is a buffer",
    ),
    Slug.INVALID_ARGUMENT: _failed(
        "request", "An argument cannot be made",
        "The arguments, inputs or grid cannot be made, or do not fit on the device.",
        "Change the argument that the detail names.",
        "/grid/0: is -1; dimension x must be from 1 to 2147483647",
    ),
    Slug.NEEDS_GPU: _failed(
        "request", "The kernel does what the CPU device cannot",
        "The kernel has inline assembly or another op that only a GPU executes.",
        'Launch it with `"device": "gpu"`, or replace the op.',
        "inline assembly, which cannot run on the CPU device: it needs a GPU",
    ),
    Slug.DEADLINE_EXCEEDED: _failed(
        "service", "It was not over within its deadline",
        "Queue, compilation and execution together took longer than `deadline_s`.",
        "Post it again, or raise `deadline_s`.",
        "No worker took this launch within its deadline_s.",
        retryable=True,
    ),
}  # fmt: skip

_PROGRAMS: Final = {
    Slug.NOT_RECORDABLE: _failed(
        "source", "The program cannot be recorded",
        "The program does what a recording cannot hold; `reason` names it.",
        "Fix the line that `file` and `line` name: `reason` is one of a fixed list.",
        "The program reads the value of a tensor, and a recording has none: aten.item",
    ),
    Slug.RECORD_TIMEOUT: _failed(
        "source", "Recording the program ran out of time",
        "The program's Python did not end within `timeout_s`.",
        "Look for a long loop; a recording computes no tensor values.",
        "Recording the program did not end within timeout_s = 30 s.",
        retryable=True,
    ),
    Slug.RECORDER_CRASHED: _failed(
        "source", "The program ended its recorder",
        "The program ended the process that recorded it, or used too much memory.",
        "Remove calls that end the process, and large Python objects.",
        "The process that recorded the program ended by SIGSEGV.",
    ),
    Slug.INVALID_TAPE: _failed(
        "source", "The program's recording is invalid",
        "The program changed the process that recorded it.",
        "Leave torch, Triton and the interpreter as they are.",
        "The process that recorded the program sent an invalid tape: /ops/3: unknown op.",
    ),
    Slug.REPLAY_CRASHED: _failed(
        "service", "The program crashed the process that replayed it",
        "An op or a kernel of the program crashed the process that replays it.",
        "Read the detail; try smaller inputs, or leave out the op.",
        "The process that replayed the program ended in aten.conv2d (SIGSEGV).",
    ),
}  # fmt: skip

_REQUESTS: Final = {
    Slug.INVALID_JSON: _refused(
        400, "The body is not JSON",
        "The body is not a JSON document.",
        "Send valid JSON in UTF-8.",
        "The body is not JSON: expected value at line 1 column 1",
    ),
    Slug.MALFORMED_REQUEST: _refused(
        400, "This is not an HTTP/1.1 request",
        "The connection's bytes are not an HTTP/1.1 request.",
        "Use an HTTP client, and http:// or https:// as the service is served.",
        "A request with an Upgrade header cannot have a body; remove the header",
    ),
    Slug.UNAUTHORIZED: _refused(
        401, "An API key is needed",
        "The request has no API key, or one that is unknown, expired or revoked.",
        "Send `Authorization: Bearer KEY`.",
        "This API key is not known",
    ),
    Slug.FORBIDDEN: _refused(
        403, "The API key does not allow this",
        "The key lacks the scope, or a browser sent the request from another site.",
        "Use a key with the scope that the detail names.",
        "The API key 'ci' lacks the scope launch",
    ),
    Slug.NOT_FOUND: _refused(
        404, "There is nothing here",
        "The path is unknown, or the caller has nothing with this id: ids expire.",
        "Check the path; post the request again if its result expired.",
        "There is no blob sha256:0f3a…; it may have been evicted",
    ),
    Slug.NO_SUCH_STAGE: _refused(
        404, "There is no such stage",
        "The target's pipeline has no stage of this name.",
        "Use a stage that the detail lists.",
        "cuda:90 has no stage 'amdgcn'; it has source, ttir, ttgir, llir, ptx, cubin",
    ),
    Slug.STAGE_NOT_REACHED: _refused(
        404, "The compilation did not reach this stage",
        "The compilation ended before this stage.",
        "Read `problem`, or post it with a later `stop_after`.",
        "The compilation ended before 'ptx' (failed); read its `problem`, or post …",
    ),
    Slug.NO_WINNER: _refused(
        404, "The sweep has no winner",
        "No variant of the sweep was both right and measured.",
        "Read the rows' problems, or widen the space.",
        "The sweep has no winner: no variant was timed",
    ),
    Slug.METHOD_NOT_ALLOWED: _refused(
        405, "The method is not allowed here",
        "The path exists, but not with this method.",
        "Use a method of the header `Allow`.",
        "PUT /v1/launches: Method Not Allowed; allowed here: GET, HEAD, POST",
    ),
    Slug.REQUEST_TIMEOUT: _refused(
        408, "The request took too long to arrive",
        "The head or body of the request arrived too slowly.",
        "Send it faster, or in smaller parts.",
        "The head of the request took more than 10 s",
    ),
    Slug.NOT_FINISHED: _refused(
        409, "The work is not finished",
        "What the request asks for exists only when the work has finished.",
        "Wait with `?wait=`, or read its events.",
        "The compilation is running; ask again, or wait with GET …?wait=S",
    ),
    Slug.EVICTED: _refused(
        410, "The artifact has left the cache",
        "The bytes were evicted to make room.",
        "Post the compilation again: its URL stays the same.",
        "The file has left the cache; post the launch again",
    ),
    Slug.TOO_LARGE: _refused(
        413, "The body is too large",
        "The body, or one part of it, is larger than `limit`.",
        "Send less; large tensors go to PUT /v1/tensors/{digest}.",
        "The body is larger than the limit of 4194304 bytes",
    ),
    Slug.UNSUPPORTED_MEDIA_TYPE: _refused(
        415, "The body must be application/json",
        "The request has a missing or wrong `Content-Type`, or an unknown `Content-Encoding`.",
        "Send `Content-Type: application/json`.",
        "Content-Type is 'text/plain'; send the body as application/json, in UTF-8",
    ),
    Slug.MISDIRECTED: _refused(
        421, "This service does not go by that name",
        "A service without keys got a request for another host name.",
        "Use the address that the service listens on, or name its host in `TRITOND_ALLOWED_HOSTS`.",
        "Host is 'gpu.example', and without API keys this service answers only to localhost …",
    ),
    Slug.INVALID_REQUEST: _refused(
        422, "The request is not valid",
        "A field is unknown, of the wrong type, out of range or contradicts another.",
        "Read `errors`: each has the JSON pointer of a field and what is wrong with it.",
        "/options/num_warps: 3 is not one of 1, 2, 4, 8, 16, 32",
    ),
    Slug.HINT_VIOLATED: _refused(
        422, "An argument breaks a hint of the compilation",
        "An argument is not what the compilation was promised, such as divisible by 16.",
        "Change the argument, or compile without the hint.",
        "/arguments/n: is 17, not a multiple of 16; this breaks the hint divisible_by_16 …",
    ),
    Slug.UNKNOWN_DIGEST: _refused(
        422, "A file is named by a digest that is not known",
        "A `digest` in `files` names no text that was posted with a `module`, or it has expired.",
        "Post the text itself in its place.",
        "/files/pkg~1util.py: no text with the digest sha256:9f86d081… was posted before",
    ),
    Slug.NOT_DERIVABLE: _refused(
        422, "This cannot be derived from the compilation",
        "This cannot be made from the compilation.",
        "Read the detail: another target, stage or kernel has it.",
        "Nothing of this program can be bundled: it launches no kernel",
    ),
    Slug.HEAD_TOO_LARGE: _refused(
        431, "The head of the request is too large",
        "The request line and headers have too many bytes.",
        "Send fewer or shorter headers.",
        "The head of the request is larger than 65536 bytes",
    ),
    Slug.NOT_IMPLEMENTED: _refused(
        501, "The method is not known",
        "The request's method is not an HTTP method.",
        "Use GET, HEAD, POST, PUT, PATCH or DELETE.",
        "BREW is not a known method",
    ),
}  # fmt: skip

_SERVICE: Final = {
    Slug.TOO_MANY_REQUESTS: _busy(
        429, 5, "Too many requests",
        "This caller has used up its rate, its places in the queue or its GPU time.",
        "Wait as long as `Retry-After` states, then post it again.",
        "You already have 1000 jobs in the queue 'compile', the most one caller may have.",
    ),
    Slug.INTERNAL_ERROR: ProblemKind(
        "service", "The service made a mistake",
        "This is a bug in the service.",
        "Report it with the X-Request-ID, under which the service's log has the details.",
        "This is a bug in the service; its log has the details under the request id.",
        500,
    ),
    Slug.QUEUE_FULL: _busy(
        503, 5, "The queue is full",
        "The deployment's queue has no room.",
        "Post it again later, or add workers.",
        "The queue 'compile' already holds 10000 jobs. Try again when some have finished.",
    ),
    Slug.TOO_MANY_CONNECTIONS: _busy(
        503, 2, "The service has too many connections",
        "The service has reached its limit of connections.",
        "Reuse connections, and close idle ones.",
        "The service has 1000 connections, its limit",
    ),
    Slug.TOO_MANY_BODIES: _busy(
        503, 2, "The service holds too many request bodies",
        "Bodies that are still arriving take all the memory for them.",
        "Send fewer large bodies at once.",
        "The bodies of all requests exceed 268435456 bytes in total; …",
    ),
    Slug.NO_TOOLCHAIN: _busy(
        503, 2, "No compiler has registered yet",
        "No worker has registered since the deployment was made.",
        "Start a worker, or wait until it is up.",
        "No worker has registered yet. That of `tritond up` takes a few seconds; …",
    ),
    Slug.STORE_UNAVAILABLE: _busy(
        503, 2, "The store cannot be reached",
        "The service cannot reach Redis or Valkey, or the bucket.",
        "Post it again; operators look at the store.",
        "The store is not available: Connection refused",
    ),
    Slug.STOPPING: _busy(
        503, 2, "The service is stopping",
        "This process of the service is shutting down.",
        "Post it again: another process takes it.",
        "The service is stopping; ask again in a moment",
    ),
    Slug.DERIVATION_FAILED: _busy(
        503, 5, "Deriving this failed",
        "The worker that made a derived artifact died, or all callers withdrew.",
        "Ask again.",
        "All callers withdrew.",
    ),
}  # fmt: skip

GROUPS: Final[Mapping[str, Mapping[Slug, ProblemKind]]] = {
    "Compilations": _COMPILATIONS,
    "Launches": _LAUNCHES,
    "Programs": _PROGRAMS,
    "Refused requests": _REQUESTS,
    "The service": _SERVICE,
}
"""The kinds by the heading that the reference has for them."""
PROBLEM_KINDS: Final[Mapping[Slug, ProblemKind]] = {
    slug: kind for group in GROUPS.values() for slug, kind in group.items()
}
