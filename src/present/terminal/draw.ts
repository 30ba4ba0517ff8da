/** A {@link QuestionView} as lines for a terminal. Server text only inside the frame, or quoted and on one line. */
import type { FieldView } from "../field-view.ts";
import type { QuestionView } from "../model.ts";
import type { SamplingView } from "../sampling-view.ts";
import { host, inline, join, type Safe, say } from "../text.ts";
import type { AcceptableUrl } from "../url.ts";
import { ASKS, STARTED_OVER } from "../words.ts";
import { framed, wrapped } from "./wrap.ts";

/** The address's own piece of style: what it says must not hang on colour settings. */
const BOLD = host("\u001b[1m");
const NOT_BOLD = host("\u001b[22m");

/** Who asks, for what call, and until when. */
export function drawAsker(
  { server, call, key, answerBy, startedOver }: QuestionView,
  asks: Safe,
  columns: number,
): Safe[] {
  const lines: Safe[] = [host(""), ...wrapped(say`━━ Server “${server.id}” ${asks}  (question “${key}”)`, columns)];
  if (server.claimed !== undefined) lines.push(...wrapped(say`  It calls itself “${server.claimed}”.`, columns));
  lines.push(...wrapped(say`  It runs ${call.method} “${call.target}” for you.`, columns));
  if (startedOver === true) lines.push(...wrapped(say`  ▲ ${STARTED_OVER}`, columns));
  if (answerBy !== undefined) {
    lines.push(...wrapped(say`  It can wait until ${localTime(answerBy)}; then the call ends unanswered.`, columns));
  }
  return lines;
}

/** A time as the person's own clock shows it, with what that clock is set to. */
function localTime(ms: number): Safe {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const offset = -at.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return inline(`${day} ${two(at.getHours())}:${two(at.getMinutes())} (UTC${zone})`);
}

/** Everything a person needs before deciding: who asks, for what, the message, the warnings. */
export function drawQuestion(view: QuestionView, columns: number): Safe[] {
  const { call } = view;
  const lines = drawAsker(view, ASKS[view.kind], columns);
  lines.push(...wrapped(host("  Esc leaves a question unanswered; Ctrl-C ends the call."), columns));
  if (call.arguments !== undefined)
    lines.push(host("  With these arguments:"), ...framed(call.arguments.text, columns));
  if (view.kind === "form" || view.kind === "url") {
    lines.push(host("  The server says:"), ...framed(view.message.text, columns));
  }
  if (view.kind === "url" && view.url.ok) lines.push(...drawUrl(view.url, columns));
  if (view.kind === "sample") lines.push(...drawSampling(view.sampling, columns));
  return [...lines, ...drawWarnings(view.warnings, columns), ...drawWarnings(view.refused, columns)];
}

/** Warnings in the host's words. */
export function drawWarnings(warnings: readonly Safe[], columns: number): Safe[] {
  return warnings.flatMap((warning) => wrapped(say`  ▲ Careful: ${warning}.`, columns));
}

/** The whole address; its registrable domain stands out, and is said once more for terminals without bold (L2, L3). */
export function drawUrl(url: AcceptableUrl, columns: number): Safe[] {
  const { before, subdomain, domain, after } = url.pieces;
  const reads =
    url.unicodeHost === undefined ? [] : wrapped(say`  The site's name reads “${url.unicodeHost}”.`, columns);
  return [
    host("  The address:"),
    say`    ${before}${subdomain}${strong(domain)}${after}`,
    ...wrapped(say`  The site: ${url.registrableDomain}`, columns),
    ...reads,
  ];
}

export function drawSampling(view: SamplingView, columns: number): Safe[] {
  const parts = view.parts.flatMap(({ label, text }) => [say`  The ${label}:`, ...framed(text.text, columns)]);
  return [...parts, ...view.limits.flatMap((limit) => wrapped(say`  · ${limit}`, columns))];
}

/** What stands above a field's prompt. */
export function drawField(view: FieldView, position: Safe, columns: number): Safe[] {
  const name = view.name === undefined ? host("") : say`, sent as “${view.name}”`;
  const lines = [host(""), ...wrapped(say`  ${position}: “${view.label}”${name}`, columns)];
  if (view.description !== undefined) lines.push(...framed(view.description.text, columns));
  lines.push(...wrapped(say`  ${join(view.rules, " · ")}`, columns));
  if (view.default !== undefined) lines.push(...wrapped(say`  The server's default: “${view.default}”`, columns));
  return [...lines, ...drawWarnings(view.warnings, columns)];
}

function strong(text: Safe): Safe {
  return say`${BOLD}${text}${NOT_BOLD}`;
}
