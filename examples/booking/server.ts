/**
 * Booking. The model calls with what it knows; a person is asked only for what is missing, and chooses when a name
 * fits several restaurants. A name that fits none is asked for again, a bounded number of times.
 * Run: npx parley serve examples/dist/booking/server.js --port 3000
 */
import { type Flow, tool } from "mcp-parley";
import { z } from "zod";

const Details = z.object({
  restaurant: z.string().min(1).max(80).meta({ title: "Restaurant" }),
  date: z.iso.date().meta({ title: "Date" }),
  guests: z.int().min(1).max(12).meta({ title: "Guests" }),
});
const Given = Details.partial();
const NAMES = Details.keyof().options;
/** Names tried in all, the first one included. */
const MAX_NAMES = 3;

interface Restaurant {
  readonly id: string;
  readonly label: string;
}

/** Stands for your search and your booking system. */
const RESTAURANTS: readonly Restaurant[] = [
  { id: "luna-north", label: "Luna, North Street 4" },
  { id: "luna-harbour", label: "Luna, Harbour 11" },
  { id: "olive", label: "Olive, Market Square 2" },
];
const bookings = new Map<string, string>();

function search(name: string): Restaurant[] {
  return RESTAURANTS.filter(({ label }) => label.toLowerCase().includes(name.trim().toLowerCase()));
}

function reserve(idempotencyKey: string, booking: string): void {
  bookings.set(idempotencyKey, booking);
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const failed = (value: string) => ({ ...text(value), isError: true });

export const book = tool(
  "book_table",
  { description: "Books a table. Leave out what you do not know.", inputSchema: Given },
  async (given, flow) => {
    const { restaurant, date, guests } = await complete(given, flow);
    const matches = await findMatches(restaurant, flow);
    if (matches.length === 0) return failed("No restaurant found. Nothing was booked.");
    const chosen = await choose(matches, flow);
    if (chosen === undefined) return text(`Nothing was booked. These fit: ${labels(matches)}.`);
    const booking = `${chosen.label}, ${date}, ${guests} guests`;
    await flow.step("reserve", ({ idempotencyKey }) => reserve(idempotencyKey, booking));
    return text(`Booked: ${booking}.`);
  },
);

/** One form with the missing fields only; none, and nobody is asked. */
async function complete(given: z.infer<typeof Given>, flow: Flow): Promise<z.infer<typeof Details>> {
  const missing = NAMES.filter((name) => given[name] === undefined);
  if (missing.length === 0) return Details.parse(given);
  const fields = Object.fromEntries(missing.map((name) => [name, Details.shape[name]]));
  const answer = await flow.form("details", { message: "The booking needs a little more.", schema: z.object(fields) });
  return Details.parse({ ...given, ...answer });
}

/** Keys in a loop are numbered: each question and each step has its own. */
async function findMatches(name: string, flow: Flow): Promise<Restaurant[]> {
  let wanted = name;
  for (let attempt = 1; ; attempt++) {
    const matches = await flow.step(`search-${attempt}`, () => search(wanted));
    if (matches.length > 0 || attempt === MAX_NAMES) return matches;
    const answer = await flow.form(`restaurant-${attempt}`, {
      message: `No restaurant is called ${JSON.stringify(wanted)}. Which one do you mean?`,
      schema: Details.pick({ restaurant: true }),
    });
    wanted = answer.restaurant;
  }
}

/** A choice is an enum with titles, not a list in the message. `undefined`: the person wanted none of them. */
async function choose(matches: readonly Restaurant[], flow: Flow): Promise<Restaurant | undefined> {
  if (matches.length === 1) return matches[0];
  const outcome = await flow.outcome.form("which", {
    message: "Several restaurants fit. Which one?",
    schema: {
      type: "object",
      properties: {
        restaurant: { type: "string", oneOf: matches.map(({ id, label }) => ({ const: id, title: label })) },
      },
      required: ["restaurant"],
    },
  });
  if (outcome.action !== "accept") return undefined;
  return matches.find(({ id }) => id === outcome.value.restaurant);
}

const labels = (matches: readonly Restaurant[]) => matches.map(({ label }) => label).join("; ");

export const listBookings = tool("list_bookings", { description: "All bookings" }, () =>
  text([...bookings.values()].join("\n")),
);

export const name = "booking";
export const version = "1.0.0";
export const flows = [book, listBookings];
export default flows;
