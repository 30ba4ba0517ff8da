/**
 * Checks the story over HTTP: nothing is asked when all is known, only the gaps when not; a choice shows titles.
 * Declining the choice books nothing and is not asked again; a name that fits nothing ends after three tries.
 * Run: npx vitest run test/e2e/examples.test.ts -t booking
 */
import assert from "node:assert/strict";
import { createCalls, type ElicitFormParams, type ElicitResult } from "mcp-parley/client";
import { accept, decline } from "mcp-parley/testing";
import { connect, textOf } from "../shared/client.ts";

type Answer = (params: ElicitFormParams) => ElicitResult;

export async function check(url: string): Promise<void> {
  const client = await connect(url);
  let asked: string[] = [];
  /** Books with scripted answers by key; `asked` holds the keys in the order they came. */
  const book = (args: Record<string, unknown>, answers: Record<string, Answer> = {}) => {
    asked = [];
    const form = async (params: ElicitFormParams, { key }: { key: string }) => {
      asked.push(key);
      const answer = answers[key] ?? assert.fail(`unexpected question "${key}"`);
      return answer(params);
    };
    const calls = createCalls(client, { server: "tables", responders: { form } });
    return calls.callTool({ name: "book_table", arguments: args });
  };
  const bookings = async () =>
    textOf(await createCalls(client, { server: "tables" }).callTool({ name: "list_bookings" }));

  try {
    const known = await book({ restaurant: "Olive", date: "2027-05-01", guests: 2 });
    assert.equal(textOf(known), "Booked: Olive, Market Square 2, 2027-05-01, 2 guests.");
    assert.deepEqual(asked, [], "nobody is asked for what is known");

    const filled = await book(
      { restaurant: "luna" },
      {
        details: ({ requestedSchema }) => {
          assert.deepEqual(Object.keys(requestedSchema.properties), ["date", "guests"], "only the gaps");
          return accept({ date: "2027-05-02", guests: 4 });
        },
        which: ({ requestedSchema }) => {
          assert.deepEqual(requestedSchema.properties["restaurant"], {
            type: "string",
            oneOf: [
              { const: "luna-north", title: "Luna, North Street 4" },
              { const: "luna-harbour", title: "Luna, Harbour 11" },
            ],
          });
          return accept({ restaurant: "luna-harbour" });
        },
      },
    );
    assert.equal(textOf(filled), "Booked: Luna, Harbour 11, 2027-05-02, 4 guests.");

    const before = await bookings();
    const details = { date: "2027-05-03", guests: 2 };
    const declined = await book({ restaurant: "luna", ...details }, { which: decline });
    assert.match(textOf(declined), /^Nothing was booked. These fit: Luna, North/);
    assert.deepEqual(asked, ["which"], "a no is an answer, not a gap to ask for again");

    const other = (restaurant: string) => () => accept({ restaurant });
    const unknown = await book(
      { restaurant: "Nowhere", ...details },
      { "restaurant-1": other("Elsewhere"), "restaurant-2": other("Somewhere") },
    );
    assert.equal(textOf(unknown), "No restaurant found. Nothing was booked.");
    assert.equal(unknown.isError, true);
    assert.deepEqual(asked, ["restaurant-1", "restaurant-2"], "re-asks are bounded");
    assert.equal(await bookings(), before);
  } finally {
    await client.close();
  }
}
