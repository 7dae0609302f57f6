"""Agents of common libraries, as the page docs/agents.md shows them; the model is asked at ``AGENT_BASE_URL``."""

import os

URL, KEY = os.environ.get("AGENT_BASE_URL", "http://127.0.0.1:1/v1"), "none"


def pydantic_ai(episode):
    from pydantic_ai import Agent, FunctionToolset, Tool
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIChatModel("mock", provider=OpenAIProvider(base_url=URL, api_key=KEY)))
    history = []

    async def turn(message):
        tools = [Tool.from_schema(t, t.name, t.description, t.parameters) for t in episode.tools]
        result = await agent.run(message, message_history=history, toolsets=[FunctionToolset(tools)])
        history[:] = result.all_messages()
        return result

    return turn


def openai_agents(episode):
    import json

    from agents import Agent, AsyncOpenAI, FunctionTool, OpenAIChatCompletionsModel, Runner, set_tracing_disabled

    set_tracing_disabled(True)
    model, history = OpenAIChatCompletionsModel("mock", AsyncOpenAI(base_url=URL, api_key=KEY)), []

    async def turn(message):
        tools = [FunctionTool(t.name, t.description, t.parameters, lambda c, a, t=t: t(**json.loads(a or "{}")),
                              strict_json_schema=False) for t in episode.tools]  # fmt: skip
        agent = Agent(name="agent", model=model, tools=tools)
        result = await Runner.run(agent, [*history, {"role": "user", "content": message}], max_turns=30)
        history[:] = result.to_input_list()
        return result

    return turn


def langgraph(episode):
    from langchain.agents import create_agent
    from langchain_core.tools import StructuredTool
    from langchain_openai import ChatOpenAI

    model, history = ChatOpenAI(model="mock", base_url=URL, api_key=KEY), []

    async def turn(message):
        tools = [StructuredTool.from_function(coroutine=t, name=t.name, description=t.description or t.name,
                                              args_schema=t.parameters) for t in episode.tools]  # fmt: skip
        agent = create_agent(model, tools)
        result = await agent.ainvoke({"messages": [*history, ("user", message)]})
        history[:] = result["messages"]
        return result

    return turn


def smolagents(episode):
    from smolagents import OpenAIModel, Tool, ToolCallingAgent

    def wrapped(t):
        inputs = {name: {"nullable": True, "description": name, **each, "type": "any"}
                  for name, each in t.parameters["properties"].items()}  # fmt: skip
        members = {"name": t.name, "description": t.description, "inputs": inputs, "output_type": "string"}
        members |= {"forward": lambda self, **given: t(**given), "skip_forward_signature_validation": True}
        return type(t.name, (Tool,), members)()

    agent = ToolCallingAgent([], OpenAIModel("mock", api_base=URL, api_key=KEY), max_tool_threads=1)

    def turn(message):
        agent.tools.update({t.name: wrapped(t) for t in episode.sync_tools})
        return str(agent.run(message, reset=False))

    return turn


def llama_index(episode):
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.memory import Memory
    from llama_index.core.tools import FunctionTool, ToolMetadata
    from llama_index.llms.openai_like import OpenAILike

    class Listed(ToolMetadata):
        def get_parameters_dict(self):
            return next(t.parameters for t in episode.tools if t.name == self.name)

    llm = OpenAILike("mock", api_base=URL, api_key=KEY, is_chat_model=True, is_function_calling_model=True)
    memory = Memory.from_defaults(token_limit=10**9)

    async def turn(message):
        tools = [FunctionTool(async_fn=t, metadata=Listed(t.description, t.name)) for t in episode.tools]
        agent = FunctionAgent(tools=tools or None, llm=llm, streaming=False)
        return str(await agent.run(message, memory=memory, max_iterations=30))

    return turn


def agno(episode):
    from agno.agent import Agent
    from agno.db.in_memory import InMemoryDb
    from agno.models.openai.like import OpenAILike
    from agno.tools.function import Function

    model, db = OpenAILike(id="mock", base_url=URL, api_key=KEY), InMemoryDb()

    async def turn(message):
        tools = [Function(name=t.name, description=t.description, parameters=t.parameters, entrypoint=t,
                          skip_entrypoint_processing=True) for t in episode.tools]  # fmt: skip
        agent = Agent(model=model, tools=tools, db=db, session_id="one", add_history_to_context=True,
                      num_history_runs=1000, telemetry=False)  # fmt: skip
        return (await agent.arun(message)).content or ""

    return turn


def strands(episode):
    from strands import Agent
    from strands.agent import NullConversationManager
    from strands.models.openai import OpenAIModel
    from strands.tools import PythonAgentTool
    from strands.tools.executors import SequentialToolExecutor

    def wrapped(t):
        async def call(use, **_):
            told = str(await t(**use["input"]))
            return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": told}]}

        spec = {"name": t.name, "description": t.description, "inputSchema": {"json": t.parameters}}
        return PythonAgentTool(t.name, spec, call)

    model = OpenAIModel(client_args={"base_url": URL, "api_key": KEY}, model_id="mock")
    kept = {
        "conversation_manager": NullConversationManager(),
        "tool_executor": SequentialToolExecutor(),
        "messages": [],
    }

    async def turn(message):
        agent = Agent(model, tools=[*map(wrapped, episode.tools)], callback_handler=None, **kept)
        return str(await agent.invoke_async(message))

    return turn


def haystack(episode):
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import Tool
    from haystack.utils import Secret

    generator = OpenAIChatGenerator(Secret.from_token(KEY), "mock", api_base_url=URL)
    history = []

    async def turn(message):
        tools = [Tool(t.name, t.description, t.parameters, async_function=t) for t in episode.tools]
        agent = Agent(chat_generator=generator, tools=tools, tool_concurrency_limit=1)
        result = await agent.run_async([*history, ChatMessage.from_user(message)])
        history[:] = result["messages"]
        return result["last_message"].text or ""

    return turn


def autogen(episode):
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core.model_context import UnboundedChatCompletionContext
    from autogen_core.tools import BaseTool
    from autogen_ext.models.openai import OpenAIChatCompletionClient
    from pydantic import BaseModel

    class Wrapped(BaseTool):
        run, schema = None, property(lambda self: self.listed)

        async def run_json(self, args, cancellation_token, call_id=None):
            return await self.carry(**args)

    def wrapped(t):
        tool = Wrapped(BaseModel, str, t.name, t.description)
        tool.carry, tool.listed = t, {"name": t.name, "description": t.description, "parameters": t.parameters}
        return tool

    known = dict.fromkeys(("vision", "json_output", "structured_output"), False) | {"family": "unknown"}
    told = {"model": "mock", "model_info": {"function_calling": True, **known}}
    model, context = OpenAIChatCompletionClient(base_url=URL, api_key=KEY, **told), UnboundedChatCompletionContext()

    async def turn(message):
        agent = AssistantAgent("agent", model, tools=[*map(wrapped, episode.tools)], system_message=None,
                               model_context=context, max_tool_iterations=30)  # fmt: skip
        return (await agent.run(task=message)).messages[-1].to_text()

    return turn


def google_adk(episode):
    from google.adk.agents import LlmAgent
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.runners import InMemoryRunner
    from google.adk.tools import BaseTool
    from google.genai import types

    class Wrapped(BaseTool):
        def _get_declaration(self):
            t = next(t for t in episode.tools if t.name == self.name)
            return types.FunctionDeclaration(
                name=t.name, description=t.description, parameters_json_schema=t.parameters
            )

        async def run_async(self, *, args, tool_context):
            return await next(t for t in episode.tools if t.name == self.name)(**args)

    agent = LlmAgent(name="agent", model=LiteLlm("openai/mock", api_base=URL, api_key=KEY))
    runner = InMemoryRunner(agent)

    async def turn(message):
        agent.tools = [Wrapped(name=t.name, description=t.description) for t in episode.tools]
        events = await runner.run_debug(message, quiet=True)
        return "".join(part.text or "" for part in events[-1].content.parts) if events else ""

    return turn
