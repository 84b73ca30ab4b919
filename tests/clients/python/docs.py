"""The examples of docs/openai-api.md, as they stand there."""

import pathlib
import re

from harness import BASE_URL, finish, scenario

page = pathlib.Path(__file__).parents[3] / "docs" / "openai-api.md"
blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
names = {}


def example(number, code):
    def run():
        exec(compile(code.replace("http://127.0.0.1:7420/v1", BASE_URL), f"example {number}", "exec"), names)

    run.__name__ = f"example_{number}"
    return run


for number, code in enumerate(blocks, 1):
    scenario(example(number, code))
finish()
