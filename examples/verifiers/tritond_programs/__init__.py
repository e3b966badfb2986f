"""The environment; verifiers finds it by the package's name."""

from tritond_programs.taskset import TritondProgramsTaskset

__all__ = ["TritondProgramsTaskset"]
