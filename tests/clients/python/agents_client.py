"""openai-agents: whole runs with a tool of the client, over both APIs."""

import asyncio

import openai
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from harness import BASE_URL, check, finish, scenario
from pydantic import BaseModel

set_tracing_disabled(True)
client = openai.AsyncOpenAI(base_url=BASE_URL, api_key="none")
# Connections belong to the loop they were made in.
loop = asyncio.Runner()


class Person(BaseModel):
    name: str
    age: int


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def agent(kind, **more):
    model = kind(model="helper", openai_client=client)
    return Agent(name="sailor", instructions="Be kind.", model=model, **more)


async def streamed(agent, text):
    run = Runner.run_streamed(agent, text)
    async for _ in run.stream_events():
        pass
    return run


for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
    api = "chat" if kind is OpenAIChatCompletionsModel else "responses"

    def tools():
        run = loop.run(Runner.run(agent(kind, tools=[get_weather]), "the weather?"))
        check(run.final_output, "The tool says: rain in Oslo")

    def streams():
        run = loop.run(streamed(agent(kind, tools=[get_weather]), "the weather?"))
        check(run.final_output, "The tool says: rain in Oslo")

    def own_tools():
        run = loop.run(streamed(agent(kind), "my plan"))
        check(run.final_output.endswith("It is noted."), True)
        # The next run brings all of it along.
        again = run.to_input_list() + [{"role": "user", "content": "hi"}]
        check(loop.run(Runner.run(agent(kind), again)).final_output, "Hello there.")

    def structured():
        run = loop.run(Runner.run(agent(kind, output_type=Person), "a person"))
        check(run.final_output, Person(name="Ada", age=36))

    for run in (tools, streams, own_tools, structured):
        run.__name__ = f"{run.__name__}_{api}"
        scenario(run)


@scenario
def previous_responses():
    first = loop.run(Runner.run(agent(OpenAIResponsesModel), "hi"))
    second = loop.run(
        Runner.run(agent(OpenAIResponsesModel), "again", previous_response_id=first.last_response_id)
    )
    check(second.final_output, "Hello there.")


finish()
