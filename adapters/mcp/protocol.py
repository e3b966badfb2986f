"""The tools of `POST /mcp`, served by the protocol's library; each calls our own API.

Loading the library takes as long as the rest of a service, so `endpoint` loads it on demand.
Clients offer the prompts for the three usual loops as commands.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from adapters.mcp import tool_arguments as words
from adapters.mcp.compare_tool import compare
from adapters.mcp.compilation_tools import compile_kernel, explain, inspect, targets
from adapters.mcp.launch_tool import launch, program, sweep
from adapters.mcp.prove_tool import prove
from adapters.mcp.resources import listed_resources, resource
from adapters.mcp.short_answer import ToolAnswer, answer, refused
from compiler.rejection import RequestRejected, did_you_mean
from service.http.body import parse_value
from service.http.problems import problem_of, problem_of_rejection

_ARGUMENT = re.compile(r"\{(\w+)\}")
_INSTRUCTIONS = (
    "Compiles, runs and checks Triton GPU kernels. Start with inspect. compile reports errors at "
    "their lines. launch runs a kernel on a CPU (or a GPU) and compares it with a reference. "
    "program runs PyTorch host code. sweep compiles many variants. prove shows that no size reads "
    "out of bounds. explain shows the output of a source line. compare shows how two compilations "
    "differ. fault names the part to change: request, source or service. Resources are pages on "
    "requests, verdicts, contracts and errors, and lessons on writing kernels."
)


@dataclass(frozen=True)
class _Tool:
    """One tool: its description for the model, its arguments, and its function."""

    description: str
    arguments: type[words.ToolArguments]
    run: Callable[[Request, Any], Awaitable[ToolAnswer]]
    is_read_only: bool = True
    """False for what runs a kernel, or takes many jobs."""

    def listed(self, name: str) -> types.Tool:
        """Return the tool's entry in the list of tools."""
        schema = _short(self.arguments.model_json_schema())
        hints = types.ToolAnnotations(
            read_only_hint=self.is_read_only,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        )
        return types.Tool(
            name=name,
            description=self.description,
            input_schema=schema,
            annotations=hints,
        )


def _short(schema: Any) -> Any:
    """Return a JSON schema without what fills a model's context and does not help it.

    Titles repeat names, a default of null adds nothing, and largest lengths are out of reach.
    """
    if isinstance(schema, list):
        return [_short(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _short(each) for name, each in schema.items() if not _is_noise(name, each)}


def _is_noise(name: str, member: object) -> bool:
    if isinstance(member, dict):  # the schema of a property may have such a name
        return name == "propertyNames"  # it only bounds the length of names
    return name in {"title", "maxLength", "maxItems", "maxProperties"} or (name, member) == (
        "default",
        None,
    )


_TOOLS: Mapping[str, _Tool] = {
    "targets": _Tool(
        "Targets, Triton versions and GPUs of this deployment.", words.TargetsArguments, targets
    ),
    "inspect": _Tool(
        "Kernels of a source, their parameters and autotune configurations; executes nothing.",
        words.InspectArguments,
        inspect,
    ),
    "compile": _Tool(
        "Compile a kernel: registers, spills, occupancy and, on request, the text of a stage; "
        "or the errors with their lines.",
        words.CompileArguments,
        compile_kernel,
    ),
    "launch": _Tool(
        "Run a kernel on generated inputs and compare outputs with a reference. Returns a verdict "
        "and findings (out of bounds, races, mismatches) with their lines.",
        words.LaunchArguments,
        launch,
        is_read_only=False,
    ),
    "program": _Tool(
        "Run PyTorch code that launches kernels, and compare it with a reference. Returns a "
        "verdict, findings with their lines, and on a GPU the speed-up.",
        words.ProgramArguments,
        program,
        is_read_only=False,
    ),
    "sweep": _Tool(
        "Compile a kernel with all combinations of some constexprs, options or targets: registers, "
        "spills and occupancy of each, the best first.",
        words.SweepArguments,
        sweep,
        is_read_only=False,
    ),
    "prove": _Tool(
        "Prove for all sizes that a kernel's accesses stay in their buffers and its 32-bit "
        "integers do not wrap, or return the smallest sizes that break it.",
        words.ProveArguments,
        prove,
    ),
    "compare": _Tool(
        "Compare two compilations: options, resources, instructions by class and line, and "
        "the text of a stage.",
        words.CompareArguments,
        compare,
    ),
    "explain": _Tool(
        "Explain what makes a compiled kernel slow (spills, costly lines, matrix units, narrow "
        "accesses, layout conversions), one line of it, a failed compilation, or what a launch, "
        "program or sweep found.",
        words.ExplainArguments,
        explain,
    ),
}
TOOL_ARGUMENTS = tuple(tool.arguments for tool in _TOOLS.values())
"""The argument models of all tools."""


def protocol(version: str, max_body_bytes: int) -> StreamableHTTPSessionManager:
    """Return the handler of the protocol's messages, for use within its `run`.

    `version` is the service's.
    """
    server: Server[Any] = Server(
        "tritond",
        version=version,
        instructions=_INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_list_resources=_list_resources,
        on_read_resource=_read_resource,
    )
    # the middleware checks Host and Origin: `service.http.browser`
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=security,
        max_request_body_size=max_body_bytes,
    )


async def _list_tools(
    _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[tool.listed(name) for name, tool in _TOOLS.items()])


async def _call_tool(
    context: ServerRequestContext[Any, Request], params: types.CallToolRequestParams
) -> types.CallToolResult:
    assert context.request is not None
    answered = await _answered(context.request, params.name, params.arguments or {})
    content = types.TextContent(type="text", text=answered.text)
    return types.CallToolResult(
        content=[content], structured_content=dict(answered.facts), is_error=answered.is_refusal
    )


async def _list_prompts(
    _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=listed_prompts())


async def _get_prompt(
    _context: ServerRequestContext[Any], params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    try:
        return prompt(params.name, params.arguments or {})
    except ValueError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None


async def _list_resources(
    context: ServerRequestContext[Any, Request], _params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    assert context.request is not None
    return types.ListResourcesResult(resources=await listed_resources(context.request))


async def _read_resource(
    context: ServerRequestContext[Any, Request], params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    assert context.request is not None
    try:
        return await resource(context.request, params.uri)
    except ValueError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None


async def _answered(request: Request, name: str, values: Mapping[str, Any]) -> ToolAnswer:
    tool = _TOOLS.get(name)
    if tool is None:
        meant = did_you_mean(name, _TOOLS)
        step = f"use one of {', '.join(_TOOLS)}"
        return answer(f"There is no tool {name[:80]!r}.{meant}", next_step=step, is_refusal=True)
    try:
        arguments = parse_value(dict(values), tool.arguments)
    except RequestRejected as error:
        problem = problem_of(problem_of_rejection(error), None).model_dump()
        for item in problem["errors"] or ():
            field = tool.arguments.model_fields.get(item["pointer"][1:])
            if field is not None and field.description:
                item["message"] += f": {field.description}"
        return refused(problem)
    return await tool.run(request, arguments)


@dataclass(frozen=True)
class _Loop:
    """A loop of tool calls; its arguments fill the text."""

    description: str
    arguments: Mapping[str, str]
    text: str


_SOURCE = {"source": "the kernel, or a description of it"}
_LOOPS: Mapping[str, _Loop] = {
    "write_kernel": _Loop(
        "Write a Triton kernel until it compiles and is right.",
        {"task": "what the kernel computes, with shapes and dtypes"},
        "Write a Triton kernel for this task: {task}\n\n"
        "1. Call `inspect` with the source, and `compile` until it succeeds; fix the line of each "
        "error.\n"
        "2. Call `launch` with a NumPy `reference` on a small size that is not a multiple of the "
        'block, with checks ["racecheck", "fuzz"], until the verdict is `passed`.\n'
        "3. Call `prove` with a contract for all sizes, and fix what it refutes.\n"
        "Follow the line `Next:` of each answer. Show the final source.",
    ),
    "fix_kernel": _Loop(
        "Find out why a Triton kernel fails, and fix it.",
        _SOURCE,
        "Find and fix what is wrong with this Triton kernel:\n\n{source}\n\n"
        "1. Call `compile`; fix errors at their lines.\n"
        '2. Call `launch` with a `reference` and checks ["racecheck", "initcheck", "fuzz"]. A '
        "finding names the line, the program and the index.\n"
        "3. Change one thing at a time, and launch again until the verdict is `passed`.\n"
        "4. Call `prove` for the sizes that no launch tried.\n"
        "Report what was wrong, and show the fixed source.",
    ),
    "tune_kernel": _Loop(
        "Find better settings for a Triton kernel.",
        _SOURCE | {"target": "such as cuda:90"},
        "Find better settings of this Triton kernel for {target}:\n\n{source}\n\n"
        "1. Call `launch` with a `reference` first: it has to be right.\n"
        "2. Call `compile` and `explain` for registers, spills and occupancy.\n"
        "3. Call `sweep` over block sizes, `num_warps` and `num_stages`; sort by what limits it.\n"
        "4. If `targets` lists a GPU, call `launch` with `time` for the best three. Otherwise "
        "report that nothing was timed.\n"
        "Report the numbers before and after.",
    ),
}


def listed_prompts() -> list[types.Prompt]:
    """Return the entries of all prompts."""
    return [
        types.Prompt(
            name=name,
            description=loop.description,
            arguments=[
                types.PromptArgument(name=argument, description=text, required=True)
                for argument, text in loop.arguments.items()
            ],
        )
        for name, loop in _LOOPS.items()
    ]


def prompt(name: str, values: Mapping[str, str]) -> types.GetPromptResult:
    """Return the text of a prompt. Raises ValueError for an unknown name or a missing argument."""
    loop = _LOOPS.get(name)
    if loop is None:
        raise ValueError(f"There is no prompt {name[:80]!r}.{did_you_mean(name, _LOOPS)}")
    missing = [argument for argument in loop.arguments if argument not in values]
    if missing:
        raise ValueError(f"The prompt {name} needs the argument {missing[0]!r}.")
    text = _ARGUMENT.sub(lambda match: values[match[1]], loop.text)
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=loop.description, messages=[message])
