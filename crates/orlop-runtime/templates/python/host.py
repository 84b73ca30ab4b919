"""A host plugin: answers /hello itself, and tells the agent who asks."""


class MyPlugin:
    name = "my_plugin"
    version = "0.1.0"

    def intercept_chat_request(self, text):
        if text == "/hello":
            return {"text": "Hello from my_plugin!"}

    def context_providers(self, request):
        return [f"The user is {request['user_id']}."]
