"""Text completions of prompts that a model family's template renders: no chat template or parser of the server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.formats.family import DEFAULT_MAX_TOKENS, open_family
from pytest_bfcl.extensions.formats.hub import read_template
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.completions import TEMPLATE_VARIABLES, Completions
from pytest_bfcl.transcript import Message, Mode, Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.models.spec import ModelSpec
    from pytest_bfcl.settings import Settings


class Rendered(Completions):
    """`Completions` for one model, with its ``family``. Raises `UsageError` for a template that cannot be used."""

    def __init__(self, spec: ModelSpec, settings: Settings, mode: Mode) -> None:
        super().__init__(self._fields, _as_it_is)
        self.family = open_family(
            settings.template or "auto", model=spec.name, mode=mode, decoder=settings.decoder, think=settings.think
        )
        if not self.family.format.native and self.family.format.mode != mode:
            raise UsageError(
                f"models of the family {self.family.name} are asked @{self.family.format.mode}: "
                f"write {spec.provider}:{spec.name}@{self.family.format.mode}"
            )
        self.family.check(_variables(settings.parameters))

    @staticmethod
    def digest(path: Path) -> str:
        """What tells the template in a file or folder from others. Raises `UsageError`."""
        return read_template(path).sha256

    def _fields(self, request: Request) -> Mapping[str, Any]:
        try:
            variables = _variables(request.parameters)
            prompt = self.family.render(request.messages, request.functions, request.query, variables)
        except UsageError as error:
            raise AdapterError(AdapterTrouble.TEMPLATE, str(error)) from None
        return {"prompt": prompt, "max_tokens": DEFAULT_MAX_TOKENS, **self.family.request_fields()}


def _variables(parameters: Fields) -> Fields:
    """What a request's ``chat_template_kwargs`` say to a template. Raises `UsageError` unless they are an object."""
    found = parameters.get(TEMPLATE_VARIABLES) or {}
    if not isinstance(found, Mapping):
        raise UsageError(f"--bfcl-param {TEMPLATE_VARIABLES} is an object: {TEMPLATE_VARIABLES}={{...}}")
    return found


def _as_it_is(reply: Reply, message: Message) -> Message:
    """The family itself says what of a reply stays in the conversation."""
    return message
