export { leanHttpTransport } from "./http.ts";
export type { LeanHttpOptions, RequestHeaders } from "./options.ts";
