// An extension: shows the text of every provider in lower case while it streams.
import { type Chunk, Extension } from "orlop";

export class MyPlugin extends Extension {
  name = "my_plugin";
  version = "0.1.0";

  processChunk({ chunk }: { chunk: Chunk }) {
    if (chunk.partial) chunk.partial.content = chunk.partial.content.toLowerCase();
    return chunk;
  }
}
