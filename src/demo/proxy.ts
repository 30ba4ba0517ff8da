import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface Proxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** Hands each request to the next of `targets`, whoever served the one before: no session, no stickiness. */
export async function startProxy(targets: readonly string[]): Promise<Proxy> {
  let turn = 0;
  const http = createServer((req, res) => {
    const target = new URL(targets[turn++ % targets.length] as string);
    const { method, headers } = req;
    const onward = request(target, { method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    onward.on("error", () => res.destroy());
    res.on("close", () => onward.destroy());
    req.pipe(onward);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    stop: async () => {
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}
