"""Runners of programs, as workers registered them: toolchains, and classes of GPUs."""

from dataclasses import dataclass

from launch.request.launch_record import Device
from service.state import ServiceState
from store.jobs.types import program_device_lane, programs_lane


@dataclass(frozen=True, slots=True)
class ProgramRunner:
    """A toolchain that records programs, and the class of GPUs that replays them.

    `device_class` None: the CPU device.
    """

    toolchain_id: str
    device_class: str | None = None

    @property
    def device(self) -> Device | None:
        """The GPU, None for the CPU device."""
        if self.device_class is None:
            return None
        target, _, model = self.device_class.partition(" ")
        return Device(target=target, model=model, interpreter=False)

    @property
    def lane(self) -> str:
        """The lane of programs for this toolchain and device."""
        if self.device_class is None:
            return programs_lane(self.toolchain_id)
        target, _, model = self.device_class.partition(" ")
        return program_device_lane(self.toolchain_id, target, model)


async def known_runners(state: ServiceState) -> list[ProgramRunner]:
    """Return all toolchains and GPU classes that run programs."""
    on_gpus = await state.workers.known_program_devices()
    runners = [
        ProgramRunner(toolchain) for toolchain in sorted(await state.workers.known_programs())
    ]
    return runners + [
        ProgramRunner(toolchain, name) for toolchain, names in on_gpus.items() for name in names
    ]
