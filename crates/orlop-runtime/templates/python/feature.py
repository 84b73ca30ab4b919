"""A feature: counts the words of a session, with a button and after each request."""


class MyPlugin:
    name = "my_plugin"
    version = "0.1.0"

    def get_actions(self):
        return [{"id": "count_words", "label": "Count words", "trigger": "request_complete"}]

    def execute_action(self, session):
        words = sum(len(str(message.content).split()) for message in session.messages)
        return {"message": f"{words} words", "session_metadata": {"words": words}}
