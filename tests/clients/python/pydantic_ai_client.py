"""pydantic-ai: tool loops, structured output and streams, over both APIs."""

import asyncio

from harness import BASE_URL, check, finish, scenario
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=BASE_URL, api_key="none")


class Person(BaseModel):
    name: str
    age: int


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


async def streamed(agent, text):
    async with agent.run_stream(text) as run:
        return await run.get_output()


for kind in (OpenAIChatModel, OpenAIResponsesModel):
    api = "chat" if kind is OpenAIChatModel else "responses"
    model = kind("helper", provider=provider)

    def tools():
        run = Agent(model, tools=[get_weather]).run_sync("the weather?")
        check((run.output, run.usage.input_tokens), ("The tool says: rain in Oslo", 30))

    def streams():
        found = asyncio.run(streamed(Agent(model, tools=[get_weather]), "the weather?"))
        check(found, "The tool says: rain in Oslo")

    def own_tools():
        run = Agent(model).run_sync("my plan")
        check(run.output.endswith("It is noted."), True)
        check(Agent(model).run_sync("hi", message_history=run.all_messages()).output, "Hello there.")

    def structured():
        run = Agent(model, output_type=NativeOutput(Person)).run_sync("a person")
        check(run.output, Person(name="Ada", age=36))

    for run in (tools, streams, own_tools, structured):
        run.__name__ = f"{run.__name__}_{api}"
        scenario(run)

finish()
