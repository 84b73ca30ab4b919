// Makes `orlop` known to a Node that is not run by Orlop: `node --import .../register.mjs --test`.

import { register } from "node:module";

register("./loader.mjs", import.meta.url);
