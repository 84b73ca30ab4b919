// Copies and comparisons of JSON values. Both are on the path of every hook, so they know nothing but JSON.

/** A deep copy. */
export function copy(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  const fields = {};
  for (const key in value) {
    if (key === "__proto__") Object.defineProperty(fields, key, { value: copy(value[key]), enumerable: true, configurable: true, writable: true });
    else fields[key] = copy(value[key]);
  }
  return fields;
}

/** Whether both would be the same JSON; a field that is `undefined` counts as absent. */
export function equal(one, other) {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  if (Array.isArray(one)) return one.length === other.length && one.every((item, at) => equal(item, other[at]));
  if (typeof one.toJSON === "function") return false;
  let surplus = 0;
  for (const key in one) {
    if (one[key] === undefined) continue;
    if (!Object.hasOwn(other, key) || !equal(one[key], other[key])) return false;
    surplus += 1;
  }
  for (const key in other) if (other[key] !== undefined) surplus -= 1;
  return surplus === 0;
}

/** Whether it is a mapping: an object that is neither an array nor an instance of something. */
export function isMapping(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a value is, in words for an error message. */
export function nameOf(value) {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : `an array of ${value.length}`;
  if (typeof value === "function") return `the function ${value.name || "without a name"}`;
  if (typeof value !== "object") {
    const text = String(value);
    return `the ${typeof value} ${JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)}`;
  }
  const kind = value.constructor?.name;
  if (kind && kind !== "Object") return `an instance of ${kind}`;
  const keys = Object.keys(value);
  return keys.length === 0 ? "an empty object" : `an object with ${keys.slice(0, 6).join(", ")}${keys.length > 6 ? ", …" : ""}`;
}
