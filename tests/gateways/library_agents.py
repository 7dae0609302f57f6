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
