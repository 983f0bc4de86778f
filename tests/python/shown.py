"""The code of docs/python.md about steps by size runs as it stands there."""

import os
import re

from device import programs, read_at
from package import SOURCE

from harness import require

COLUMNS = 4


def blocks(title):
    with open(os.path.join(SOURCE, "docs", "python.md"), encoding="utf-8") as file:
        section = file.read().split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)


def shown(hip, gfxgraph):
    """With arrays of some rows, and work that adds to them."""
    def launch(x, y, value, stream):
        count = COLUMNS * gfxgraph.device_memory(x).shape[0]
        hip.copy(gfxgraph.device_memory(y).address, gfxgraph.device_memory(x).address, 4 * count, stream)
        hip.add(gfxgraph.device_memory(y).address, value, count, stream)

    def model(x, *, stream):
        y = gfxgraph.empty(gfxgraph.device_memory(x).shape, "<i4", stream)
        launch(x, y, 1, stream)
        return y

    def content(array):
        hip.wait()
        return read_at(hip, gfxgraph.device_memory(array).address, 5 * COLUMNS)

    values = list(range(5 * COLUMNS))
    names = {"gfxgraph": gfxgraph, "COLUMNS": COLUMNS, "launch": launch, "model": model, "stream": hip.stream.value,
             "x": hip.array(values, COLUMNS)}
    first, second = blocks("Steps by size")
    exec(first, names)
    require(content(names["z"]) == [value + 12 for value in values], str(content(names["z"])))
    exec(second, names)
    require(content(names["y"]) == [value + 5 for value in values] and names["result"].way == "graph", str(names["result"]))
    (third,) = blocks("torch's and gfxGRAPH's names")
    exec(third, names)
    require(content(names["output"]) == [value + 1 for value in values], str(content(names["output"])))


if __name__ == "__main__":
    programs({"shown": shown}, os.path.abspath(__file__), lambda _: ["--capture-api"])
