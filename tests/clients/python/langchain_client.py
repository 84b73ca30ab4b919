"""langchain-openai over both APIs: text, streams, tool loops, structured output."""

from harness import BASE_URL, check, finish, scenario
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Person(BaseModel):
    name: str
    age: int


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def model(responses):
    return ChatOpenAI(model="helper", base_url=BASE_URL, api_key="none", use_responses_api=responses)


def with_both(run):
    for responses in (False, True):
        name = f"{run.__name__}_{'responses' if responses else 'chat'}"
        check_it = lambda responses=responses: run(model(responses))
        check_it.__name__ = name
        scenario(check_it)


@with_both
def text(llm):
    answer = llm.invoke("hi")
    check(answer.text, "Hello there.")
    check(answer.usage_metadata["total_tokens"], 7)


@with_both
def stream(llm):
    check("".join(chunk.text for chunk in llm.stream("my plan")).replace("\n", ""), "Let me note that.It is noted.")


@with_both
def tools(llm):
    llm = llm.bind_tools([get_weather])
    messages = [HumanMessage("the weather?")]
    answer = llm.invoke(messages)
    call = answer.tool_calls[0]
    check((call["name"], call["args"]), ("get_weather", {"city": "Oslo"}))
    messages += [answer, ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])]
    check(llm.invoke(messages).text, "The tool says: rain in Oslo")


@with_both
def structured(llm):
    check(llm.with_structured_output(Person, method="json_schema").invoke("a person"), Person(name="Ada", age=36))


finish()
