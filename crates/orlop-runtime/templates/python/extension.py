"""An extension: shows the text of every provider in lower case while it streams."""


class MyPlugin:
    name = "my_plugin"
    version = "0.1.0"

    def process_chunk(self, chunk):
        if chunk.get("partial"):
            chunk["partial"]["content"] = chunk["partial"]["content"].lower()
        return chunk
