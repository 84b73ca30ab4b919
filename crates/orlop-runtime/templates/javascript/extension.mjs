// An extension: shows the text of every provider in lower case while it streams.
export class MyPlugin {
  name = "my_plugin";
  version = "0.1.0";

  processChunk({ chunk }) {
    if (chunk.partial) chunk.partial.content = chunk.partial.content.toLowerCase();
    return chunk;
  }
}
