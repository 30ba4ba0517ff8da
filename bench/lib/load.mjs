// A cheap client: requests written beforehand, over bare sockets that are kept, one at a time on each.
import { connect } from "node:net";
import { median } from "./measure.mjs";

/** What a client that declares forms sends for one call of the tool. */
export function callOf(params) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta } });
  const head = [
    "POST /mcp HTTP/1.1",
    "host: 127.0.0.1",
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    "mcp-protocol-version: 2026-07-28",
    "mcp-method: tools/call",
    `mcp-name: ${params.name}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** One kept connection. */
class Line {
  #socket;
  #text = "";
  #settle;

  static async open(port) {
    const line = new Line();
    line.#socket = connect(port, "127.0.0.1").setNoDelay().setEncoding("latin1");
    await new Promise((resolve, reject) => line.#socket.once("connect", resolve).once("error", reject));
    line.#socket.on("data", (piece) => line.#take(piece));
    line.#socket.on("close", () => line.#settle?.reject(new Error("The server closed the connection.")));
    return line;
  }

  /** The body of the answer, once it is whole. */
  send(request) {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close() {
    this.#socket.destroy();
  }

  #take(piece) {
    this.#text += piece;
    const end = this.#text.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#text.slice(0, end))?.[1];
    const whole =
      length === undefined ? this.#text.endsWith("0\r\n\r\n") : this.#text.length >= end + 4 + Number(length);
    if (!whole) return;
    const text = this.#text;
    this.#text = "";
    const { resolve, reject } = this.#settle;
    if (!text.startsWith("HTTP/1.1 200")) reject(new Error(`The server answered ${text.slice(0, 500)}`));
    else resolve(length === undefined ? text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1) : text.slice(end + 4));
  }
}

/** One answer, read. */
export async function once(port, params) {
  const line = await Line.open(port);
  const body = await line.send(callOf(params));
  line.close();
  return JSON.parse(Buffer.from(body, "latin1").toString()).result;
}

/**
 * `flight` requests always in flight, for `ms`.
 * @returns requests per second, CPU us of the server for each, the median time of one in us, and how many there were.
 */
export async function drive(server, request, flight, ms) {
  const lines = await Promise.all(Array.from({ length: flight }, () => Line.open(server.port)));
  const times = [];
  const cpuBefore = await server.cpuUs();
  const begun = performance.now();
  await Promise.all(
    lines.map(async (line) => {
      for (let before = performance.now(); before < begun + ms; ) {
        await line.send(request);
        const now = performance.now();
        times.push(now - before);
        before = now;
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1_000;
  const cpuUs = ((await server.cpuUs()) - cpuBefore) / times.length;
  for (const line of lines) line.close();
  return { perSecond: times.length / seconds, cpuUs, p50: median(times) * 1_000, requests: times.length };
}
