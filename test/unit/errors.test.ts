/** What is made of whatever somebody threw. */
import { expect, test } from "vitest";
import { messageOf, reasonOf, rootOf } from "../../src/errors.ts";

test("the text of what was thrown: an error's message, or its name", () => {
  expect(messageOf(new Error("no"))).toBe("no");
  expect(messageOf(new RangeError())).toBe("RangeError");
  expect(reasonOf("Too late.")).toBe("Too late");
});

test.each<[string, unknown]>([
  ["no prototype", Object.create(null)],
  ["a message that throws", Object.defineProperty(new Error(), "message", { get: () => fail() })],
  ["a proxy that was revoked", revoked()],
])("what has %s has a text all the same", (_, thrown) => {
  expect(messageOf(thrown)).toBe("something was thrown that cannot be read");
});

test("a message that is no text is one in the end", () => {
  expect(messageOf(Object.assign(new Error("x"), { message: 5 }))).toBe("5");
  expect(rootOf(Object.create(null)).message).toBe("something was thrown that cannot be read");
});

function fail(): never {
  throw new Error("boo");
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
