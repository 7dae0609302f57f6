"""Other names of tools and parameters in a conversation than those the simulators know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pytest_bfcl.json_types import Parsed


@dataclass(frozen=True)
class Renames:
    """Other names of tools and parameters: own name → name in the conversation.

    ``parameters`` are by the tool's own name; tools and parameters that are not named keep their names.
    """

    tools: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def own_tools(self) -> dict[str, str]:
        """Name in the conversation → own name, of the tools that have another one."""
        return {said: own for own, said in self.tools.items()}

    @cached_property
    def _own_parameters(self) -> dict[str, dict[str, str]]:
        return {tool: {said: own for own, said in names.items()} for tool, names in self.parameters.items()}

    def own_tool(self, said: str) -> str | None:
        """The own name of a tool; ``None`` for one that goes by another name."""
        return self.own_tools.get(said, None if said in self.tools else said)

    def own_arguments(self, tool: str, arguments: Parsed) -> Parsed:
        """Arguments of a tool (own name) under their own names.

        Raises `TypeError`, as a call does, for one that goes by another name.
        """
        names, hidden = self._own_parameters.get(tool, {}), self.parameters.get(tool, {})
        for said in arguments:
            if said in hidden and said not in names:
                raise TypeError(f"{self.tools.get(tool, tool)}() got an unexpected keyword argument {said!r}")
        return {names.get(said, said): value for said, value in arguments.items()}

    def renamed_error(self, tool: str, error: TypeError) -> TypeError:
        """What is wrong with a call's arguments, in the names of the conversation."""
        if not self.tools and not self.parameters:
            return error
        text = str(error).replace(f".{tool}()", f".{self.tools.get(tool, tool)}()")
        for own, said in self.parameters.get(tool, {}).items():
            text = text.replace(f"'{own}'", f"'{said}'")
        return TypeError(text)
