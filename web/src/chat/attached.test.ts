import { expect, test } from "vitest";
import type { JsonMap, Message } from "../api/types";
import { attachedTo } from "./attached";

const DOT = "data:image/png;base64,iVBORw0KGgo=";
const picture = { type: "image_url", image_url: { url: DOT } };
const text = { type: "text", text: "File notes.txt:\nmilk" };
const said = (attachments: JsonMap[] | undefined, ...parts: JsonMap[]): Message => ({ role: "user", content: "look", metadata: attachments ? { attachments } : {}, multipartContent: parts });

test("files are shown by what the message notes of them, pictures with their names", () => {
  const noted = [
    { id: "1", name: "dot.png", media_type: "image/png", size: 8, parts: 1 },
    { id: "2", name: "notes.txt", media_type: "text/plain", size: 4, parts: 1 },
  ];
  const files = [
    { name: "dot.png", size: 8, picture: DOT, asset: "1", elsewhere: false },
    { name: "notes.txt", size: 4, picture: null, asset: "2", elsewhere: false },
  ];
  expect(attachedTo(said(noted, picture, text))).toEqual(files);
  // Before it is stored a message has no parts yet, and a model that takes no pictures gets words: then the file itself is shown.
  for (const parts of [[], [text, text]]) {
    expect(attachedTo(said(noted, ...parts))).toEqual([{ ...files[0], picture: null, elsewhere: true }, files[1]]);
  }
  // Parts that somebody sent beside the files are shown, too.
  expect(attachedTo(said(noted, picture, picture, text))).toEqual([{ name: "Picture", size: null, picture: DOT, asset: null, elsewhere: false }, ...files]);
});

test("a file of several parts, or of none, keeps its neighbours apart", () => {
  const noted = [
    { id: "1", name: "scan.pdf", size: 9, parts: 2 },
    { id: "2", name: "gone.bin", size: 1, parts: 0 },
    { id: "3", name: "dot.png", size: 8, parts: 1 },
  ];
  expect(attachedTo(said(noted, text, text, picture)).map((file) => [file.name, file.picture !== null])).toEqual([
    ["scan.pdf", false],
    ["gone.bin", false],
    ["dot.png", true],
  ]);
});

test("without a note only pictures are shown", () => {
  expect(attachedTo(said(undefined, picture, text))).toEqual([{ name: "Picture", size: null, picture: DOT, asset: null, elsewhere: false }]);
});
