"""The openai package: models, chat completions, responses, and what is stored of them."""

import openai
from harness import BASE_URL, check, finish, scenario

client = openai.OpenAI(base_url=BASE_URL, api_key="none")
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
CHAT_TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}}
TOOL = {"type": "function", "name": "get_weather", "parameters": WEATHER, "strict": True}
PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@scenario
def models():
    check([model.id for model in client.models.list()], ["helper"])
    check(client.models.retrieve("helper").owned_by, "orlop")
    try:
        client.models.retrieve("nobody")
    except openai.NotFoundError as error:
        check(error.code, "model_not_found")


@scenario
def chat():
    made = client.chat.completions.create(
        model="helper", messages=[{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]
    )
    check(made.choices[0].message.content, "Hello there.")
    check((made.choices[0].finish_reason, made.usage.total_tokens), ("stop", 7))
    cut = client.chat.completions.create(model="helper", messages=[{"role": "user", "content": "cut"}])
    check(cut.choices[0].finish_reason, "length")


@scenario
def chat_stream():
    chunks = list(
        client.chat.completions.create(
            model="helper",
            messages=[{"role": "user", "content": "my plan"}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    check(text, "Let me note that.\n\nIt is noted.")
    check(chunks[-1].usage.completion_tokens_details.reasoning_tokens, 2)


@scenario
def chat_tools():
    messages = [{"role": "user", "content": "the weather?"}]
    made = client.chat.completions.create(model="helper", messages=messages, tools=[CHAT_TOOL])
    message = made.choices[0].message
    check((made.choices[0].finish_reason, message.content), ("tool_calls", None))
    call = message.tool_calls[0]
    check((call.function.name, call.function.arguments), ("get_weather", '{"city":"Oslo"}'))
    messages += [message, {"role": "tool", "tool_call_id": call.id, "content": "7 degrees"}]
    made = client.chat.completions.create(model="helper", messages=messages, tools=[CHAT_TOOL])
    check(made.choices[0].message.content, "The tool says: 7 degrees")


@scenario
def own_and_client_tools_in_one_answer():
    made = client.chat.completions.create(
        model="helper", messages=[{"role": "user", "content": "both"}], tools=[CHAT_TOOL]
    )
    check([call.function.name for call in made.choices[0].message.tool_calls], ["get_weather"])


@scenario
def structured_output():
    import pydantic

    class Person(pydantic.BaseModel):
        name: str
        age: int

    made = client.chat.completions.parse(
        model="helper", messages=[{"role": "user", "content": "a person"}], response_format=Person
    )
    check(made.choices[0].message.parsed, Person(name="Ada", age=36))
    response = client.responses.parse(model="helper", input="a person", text_format=Person)
    check(response.output_parsed, Person(name="Ada", age=36))


@scenario
def pictures():
    parts = [{"type": "text", "text": "which picture?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    made = client.chat.completions.create(model="helper", messages=[{"role": "user", "content": parts}])
    check(made.choices[0].message.content, "A picture.")
    parts = [{"type": "input_text", "text": "which picture?"}, {"type": "input_image", "image_url": PICTURE}]
    response = client.responses.create(model="helper", input=[{"role": "user", "content": parts}])
    check(response.output_text, "A picture.")


@scenario
def errors():
    for ask in (
        lambda: client.chat.completions.create(model="helper", messages=[{"role": "user", "content": "x"}], n=2),
        lambda: client.responses.create(model="helper", input=[]),
    ):
        try:
            ask()
            check("no error", "an error")
        except openai.BadRequestError as error:
            check(error.type, "invalid_request_error")
    try:
        client.responses.create(model="helper", input="fail")
        check("no error", "an error")
    except openai.InternalServerError as error:
        check("out of order" in str(error), True)


@scenario
def responses_with_tools():
    response = client.responses.create(model="helper", input="the weather?", tools=[TOOL])
    call = response.output[0]
    check((call.type, call.arguments), ("function_call", '{"city":"Oslo"}'))
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "7 degrees"}
    response = client.responses.create(
        model="helper", previous_response_id=response.id, input=[output], tools=[TOOL]
    )
    check(response.output_text, "The tool says: 7 degrees")
    check(response.usage.total_tokens, 25)


@scenario
def responses_stream():
    with client.responses.stream(model="helper", input="my plan") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    check([item.type for item in final.output], ["reasoning", "message", "mcp_call", "message"])
    check(final.output_text, "Let me note that.It is noted.")
    check((kinds[0], kinds[-1]), ("response.created", "response.completed"))
    stored = client.responses.retrieve(final.id)
    check([item.id for item in stored.output], [item.id for item in final.output])
    check(stored.output_text, final.output_text)


@scenario
def stored_responses():
    first = client.responses.create(model="helper", input="hi", instructions="be kind", metadata={"a": "b"})
    check((first.instructions, first.metadata), ("be kind", {"a": "b"}))
    second = client.responses.create(model="helper", input="again", previous_response_id=first.id)
    branch = client.responses.create(model="helper", input="otherwise", previous_response_id=first.id)
    check((second.output_text, branch.output_text), ("Hello there.", "Hello there."))
    items = client.responses.input_items.list(branch.id)
    check([item.content[0].text for item in items], ["otherwise"])
    client.responses.delete(branch.id)
    try:
        client.responses.retrieve(branch.id)
        check("no error", "an error")
    except openai.NotFoundError:
        pass
    check(client.responses.retrieve(second.id).previous_response_id, first.id)
    unstored = client.responses.create(model="helper", input="hi", store=False)
    try:
        client.responses.retrieve(unstored.id)
        check("no error", "an error")
    except openai.NotFoundError:
        pass


@scenario
def conversations():
    started = {"type": "message", "role": "user", "content": "hello"}
    conversation = client.conversations.create(items=[started], metadata={"topic": "sea"})
    response = client.responses.create(model="helper", input="hi", conversation=conversation.id)
    check((response.output_text, response.conversation.id), ("Hello there.", conversation.id))
    items = client.conversations.items.list(conversation.id, order="asc", limit=2)
    check([item.content[0].text for item in items], ["hello", "hi", "Hello there."])
    changed = client.conversations.update(conversation.id, metadata={"topic": "land"})
    check(changed.metadata, {"topic": "land"})
    check(client.conversations.delete(conversation.id).deleted, True)


@scenario
def streams_are_resumed():
    for place in ("response.reasoning_summary_text.delta", "response.output_text.delta", "response.mcp_call.in_progress"):
        events = client.responses.create(model="helper", input="my plan", stream=True)
        seen = []
        for event in events:
            seen.append(event)
            if event.type == place:
                break
        events.close()
        id, last = seen[0].response.id, seen[-1].sequence_number
        rest = list(client.responses.retrieve(id, stream=True, starting_after=last))
        check(rest[0].sequence_number > last, True)
        check(rest[-1].type, "response.completed")
        check(rest[-1].response.output_text, "Let me note that.It is noted.")
        deltas = [event.delta for event in seen + rest if event.type == "response.output_text.delta"]
        check("".join(deltas), "Let me note that.It is noted.")
        added = [event.output_index for event in seen + rest if event.type == "response.output_item.added"]
        check(added, [0, 1, 2, 3])


@scenario
def responses_in_the_background_are_cancelled():
    response = client.responses.create(model="helper", input="endless", background=True)
    check(response.status, "in_progress")
    check(client.responses.retrieve(response.id).status, "in_progress")
    check(client.responses.cancel(response.id).status, "cancelled")
    check(client.responses.retrieve(response.id).status, "cancelled")


finish()
