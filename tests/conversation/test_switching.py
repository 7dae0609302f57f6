"""Mode ``auto``: one switch of the whole run, never a mixture."""

import asyncio
from dataclasses import replace

import pytest
from aiohttp import web

from pytest_bfcl.conversation import Job, LookAhead, ModeSwitch, converse
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import ToolsRefused, create_model, parse_spec
from tests.models.loopback import serving

from .test_engine import area_entry
from .worlds import SETTINGS, TEXTS, Listed, user


class Endpoint(Listed):
    """Refuses tools, answers text."""

    def __init__(self, mode="fc", refuses=True):
        super().__init__(mode=mode)
        self.refuses = refuses
        self.asked = self.closed = 0

    async def generate(self, request):
        self.asked += 1
        await asyncio.sleep(0.001)
        if self.refuses and request.functions:
            raise ToolsRefused("tools are not supported", status=400)
        return await super().generate(request)

    async def aclose(self):
        self.closed += 1


def run_all(switch, entries, concurrency=8):
    async def hold(job):
        return await switch.converse(
            job.payload, lambda model: converse(job.payload, model, settings=SETTINGS, texts=TEXTS)
        )

    async def main():
        ahead = LookAhead(hold, concurrency=concurrency)
        ahead.plan(Job(entry.id, entry) for entry in entries)
        try:
            return [await ahead.transcript(entry.id) for entry in entries]
        finally:
            await ahead.aclose()

    return asyncio.run(main())


def entries(count, **fields):
    return [area_entry(id=f"simple_python_{number}", **fields) for number in range(count)]


def test_a_refusal_switches_the_whole_run_once():
    refusing, prompting, said = Endpoint(), Endpoint("prompt"), []
    switch = ModeSwitch(refusing, lambda: prompting, on_switch=said.append)
    transcripts = run_all(switch, entries(40))
    assert {t.mode for t in transcripts} == {"prompt"}
    assert {t.model for t in transcripts} == {"listed:model@prompt"}
    assert 1 <= refusing.asked <= 8  # those in flight when the first one was refused
    assert prompting.asked == 40
    assert len(said) == 1
    assert switch.switched
    assert switch.mode == "prompt"


def test_an_endpoint_that_takes_tools_is_asked_natively():
    native = Endpoint(refuses=False)
    switch = ModeSwitch(native, lambda: pytest.fail("no switch is due"))
    transcripts = run_all(switch, entries(40))
    assert {t.mode for t in transcripts} == {"fc"}
    assert native.asked == 40
    assert not switch.switched


def test_later_refusals_are_errors_of_their_entry():
    native = Endpoint(refuses=False)
    switch = ModeSwitch(native, lambda: pytest.fail("no switch is due"))
    run_all(switch, entries(1))
    native.refuses = True
    with pytest.raises(ToolsRefused):
        run_all(switch, entries(1))


def test_without_a_choice_of_mode_refusals_are_errors():
    with pytest.raises(ToolsRefused):
        run_all(ModeSwitch(Endpoint()), entries(1))


def test_trouble_of_the_first_one_leaves_the_question_open():
    class Flaky(Endpoint):
        async def generate(self, request):
            if self.asked == 0:
                self.asked += 1
                raise AdapterError("timeout", "no answer")
            return await super().generate(request)

    prompting = Endpoint("prompt")
    switch = ModeSwitch(Flaky(), lambda: prompting)
    with pytest.raises(AdapterError, match="no answer"):
        run_all(switch, entries(1))
    assert {t.mode for t in run_all(switch, entries(8))} == {"prompt"}


def test_a_request_that_hangs_holds_up_nobody():
    class Hanging(Endpoint):
        async def generate(self, request):
            if request.entry.id == "simple_python_0":
                await asyncio.sleep(0.3)
            return await super().generate(request)

    for refuses, mode in ((True, "prompt"), (False, "fc")):
        done = []
        native, prompting = Hanging(refuses=refuses), Endpoint("prompt")
        switch = ModeSwitch(native, lambda prompting=prompting: prompting)

        async def main(switch=switch, done=done):
            async def one(entry):
                found = await switch.converse(
                    entry, lambda model: converse(entry, model, settings=SETTINGS, texts=TEXTS)
                )
                done.append((entry.id, found.mode))

            await asyncio.gather(*map(one, entries(6)))

        asyncio.run(main())
        assert done[-1] == ("simple_python_0", mode)
        assert {found for _, found in done} == {mode}


def test_a_native_answer_after_the_switch_is_asked_for_again():
    class Uneven(Endpoint):
        async def generate(self, request):
            if request.entry.id == "simple_python_0":
                self.refuses = False
                try:
                    await asyncio.sleep(0.1)
                    return await super().generate(request)
                finally:
                    self.refuses = True
            self.refuses = True
            return await super().generate(request)

    prompting = Endpoint("prompt")
    switch = ModeSwitch(Uneven(), lambda: prompting)
    assert {t.mode for t in run_all(switch, entries(8))} == {"prompt"}
    assert prompting.asked == 8


def test_the_refused_model_is_closed_when_the_last_conversation_with_it_has_ended():
    class Slow(Endpoint):
        async def generate(self, request):
            if request.entry.id == "simple_python_3":
                await asyncio.sleep(0.1)
                closed_while_asked.append(self.closed)
            return await super().generate(request)

    class Prompting(Endpoint):
        async def generate(self, request):
            closed_before.append(native.closed)
            return await super().generate(request)

    closed_while_asked, closed_before = [], []
    native, prompting = Slow(), Prompting("prompt")
    run_all(ModeSwitch(native, lambda: prompting), entries(20))
    assert closed_while_asked == [0]
    assert native.closed == 1
    assert closed_before[-1] == 1  # not at the end of the run only
    assert prompting.closed == 0
    answered = Endpoint(refuses=False)
    run_all(ModeSwitch(answered, lambda: pytest.fail("no switch is due")), entries(4))
    assert answered.closed == 0


def test_sockets_are_given_back_right_after_the_switch():
    async def refuse_tools(request):
        body = await request.json()
        if "tools" in body:
            return web.json_response({"error": {"message": "tools are not supported by this model"}}, status=400)
        return web.json_response(
            {"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]}
        )

    async def main():
        async with serving(refuse_tools) as url:
            settings = replace(SETTINGS, base_url=url, mode="auto")
            spec = parse_spec("vllm:m")
            native, prompting = (create_model(spec, settings, mode=mode) for mode in ("fc", "prompt"))
            switch = ModeSwitch(native, lambda: prompting)
            sessions = []

            async def hold(model):
                found = await converse(entry, model, settings=settings, texts=TEXTS)
                sessions.append(native.server._session)
                return found

            entry = area_entry(id="simple_python_0")
            assert (await switch.converse(entry, hold)).mode == "prompt"
            await prompting.aclose()
            return sessions

    assert asyncio.run(main()) == [None]  # gone before the first conversation in prompting mode is over


def test_entries_without_functions_do_not_decide():
    prompting = Endpoint("prompt")
    switch = ModeSwitch(Endpoint(), lambda: prompting)
    bare = area_entry(id="live_irrelevance_0-0-0", category="live_irrelevance", question=[user("hi")])
    bare = bare.model_copy(update={"function": []})
    run_all(switch, [bare])
    assert not switch.switched
    run_all(switch, entries(2))
    assert switch.switched


def test_what_is_settled_from_the_start():
    for model, prompting in ((Endpoint("prompt"), lambda: pytest.fail("no switch")), (Endpoint(refuses=False), None)):
        switch = ModeSwitch(model, prompting)
        seen = []

        async def hold(asked, seen=seen):
            seen.append(asked)
            return "held"

        assert asyncio.run(switch.converse(area_entry(), hold)) == "held"
        assert seen == [model]  # the model itself: nobody has to be told of its answer
        assert switch.mode == model.mode


def test_shared_connections_are_not_closed_by_a_switch():
    refusing, prompting = Endpoint(), Endpoint("prompt")
    refusing.connections_shared = True
    assert len(run_all(ModeSwitch(refusing, lambda: prompting), entries(3))) == 3
    assert (refusing.closed, prompting.closed) == (0, 0)


def test_a_watched_model_is_what_it_was():
    seen = []

    async def hold(model):
        seen.append((model.spec, model.mode, model.underscore_names, hasattr(model, "play"), model.remember("r", "m")))
        await model.aclose()
        return "held"

    native = Endpoint(refuses=False)
    native.remember = lambda reply, message: (reply, message)
    assert asyncio.run(ModeSwitch(native, lambda: None).converse(area_entry(), hold)) == "held"
    assert seen == [("listed:model@fc", "fc", False, False, ("r", "m"))]
    assert native.closed == 1


def test_an_error_of_a_refused_model_after_the_switch_is_asked_again():
    prompting = Endpoint("prompt")
    switch = ModeSwitch(Endpoint(), lambda: prompting)

    async def main():
        first = asyncio.Event()

        async def refused(model):
            if model.mode == "fc":
                raise ToolsRefused("no tools")
            first.set()
            return "prompted"

        async def slow(model):
            if model.mode == "fc":
                await first.wait()
                raise AdapterError("server", "closed")
            return "prompted too"

        return await asyncio.gather(switch.converse(area_entry(), slow), switch.converse(area_entry(), refused))

    assert asyncio.run(main()) == ["prompted too", "prompted"]
