/** What the headers of a request repeat of its body, and how (G20 to G22): the same at both ends of the wire. */

/** The param that `Mcp-Name` repeats, by method (G20, H33). */
export const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** What stands before and after a value that is wrapped in base64 (G22). */
export const WRAPPED = { before: "=?base64?", after: "?=" } as const;
