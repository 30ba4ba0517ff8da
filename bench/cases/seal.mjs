// Sealing and opening a state, beside the SDK's codec (signs, does not encrypt) and what node:crypto's GCM costs alone.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import { createKeyRing, createSealer, digestParams, pooledRandom } from "../../dist/state/index.js";
import { assertSame, interleave, round } from "../lib/measure.mjs";

const SIZES = [200, 2_000, 20_000];
const REPEATS = 15;
const BATCH_CPU_US = 25_000;

const secret = randomBytes(32);
const params = { name: "deploy", arguments: { env: "prod", region: "eu-1", dryRun: false } };
const principal = { issuer: "https://id.example", subject: "user-1234", clientId: "host-1" };
/** The same facts on all sides; their digest is computed beforehand on all sides. */
const binding = {
  audience: "bench",
  principal,
  method: "tools/call",
  target: params.name,
  paramsDigest: digestParams("tools/call", params),
};
const boundText = [binding.audience, ...Object.values(principal), binding.method, binding.target].join("\0");
const bound = `${boundText}\0${binding.paramsDigest.toString("base64url")}`;

function ours() {
  const random = pooledRandom();
  const sealer = createSealer({ ring: createKeyRing({ keys: [secret], random }), now: Date.now, random });
  return {
    seal: (value) => sealer.seal(JSON.stringify(value), binding),
    open: (token) => JSON.parse(sealer.open(token, binding).payload),
  };
}

function sdk() {
  const codec = createRequestStateCodec({ key: secret, bind: (ctx) => ctx.bound });
  return { seal: (value) => codec.mint(value, { bound }), open: (token) => codec.verify(token, { bound }) };
}

/**
 * AES-256-GCM of node:crypto alone: no expiry, no key id.
 * @param keyFor the key of a token, by its nonce.
 */
function bare(nonceBytes, keyFor) {
  const aad = Buffer.from(bound);
  return {
    seal(value) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", keyFor(nonce), nonce.subarray(-12)).setAAD(aad);
      const text = cipher.update(JSON.stringify(value), "utf8");
      cipher.final();
      return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString("base64url");
    },
    open(token) {
      const body = Buffer.from(token, "base64url");
      const nonce = body.subarray(0, nonceBytes);
      const cipher = createDecipheriv("aes-256-gcm", keyFor(nonce), nonce.subarray(-12)).setAAD(aad);
      cipher.setAuthTag(body.subarray(-16));
      const text = cipher.update(body.subarray(nonceBytes, -16), undefined, "utf8");
      return JSON.parse(text + cipher.final("utf8"));
    },
  };
}

/** One key, and 12-byte nonces, which are too short for random ones. */
const floor = () => bare(12, () => secret);

/** A key per token, which makes random nonces safe: two blocks of AES over half of a 24-byte nonce, as XAES does it. */
function derived() {
  const ecb = createCipheriv("aes-256-ecb", secret, null).setAutoPadding(false);
  const blocks = Buffer.alloc(32);
  return bare(24, (nonce) => {
    for (const at of [0, 1]) {
      blocks.writeUInt32BE(at + 1, 16 * at);
      nonce.copy(blocks, 16 * at + 4, 0, 12);
    }
    return ecb.update(blocks);
  });
}

/** A value whose JSON has exactly `bytes` bytes: entries of a journal, more or less. */
function journalOf(bytes) {
  const value = { journal: [], rest: "" };
  const left = () => bytes - JSON.stringify(value).length;
  while (left() > 160)
    value.journal.push(["!", `step-${value.journal.length}`, { id: randomBytes(40).toString("hex") }]);
  value.rest = "x".repeat(left());
  return value;
}

/** CPU time of this process in us per operation, threads included: waiting for the machine does not count. */
async function cpu(count, operation) {
  const before = process.cpuUsage();
  for (let done = 0; done < count; done++) await operation();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

export async function run() {
  const codecs = { ours: ours(), sdk: sdk(), floor: floor(), derived: derived() };
  const tables = [];
  for (const [verb, at] of [
    ["seal", 0],
    ["open", 1],
  ])
    tables[at] = { title: `${verb}: CPU us per operation`, rows: [] };
  tables.push({ title: "characters of the token", rows: [] });
  for (const bytes of SIZES) {
    const value = journalOf(bytes);
    const sides = [{}, {}];
    const lengths = {};
    for (const [name, codec] of Object.entries(codecs)) {
      const token = await codec.seal(value);
      lengths[name] = token.length;
      assertSame(`${name}, ${bytes} bytes`, value, await codec.open(token));
      for (const [at, operation] of [() => codec.seal(value), () => codec.open(token)].entries()) {
        await cpu(500, operation);
        const count = Math.max(20, Math.ceil(BATCH_CPU_US / (await cpu(200, operation))));
        sides[at][name] = () => cpu(count, operation);
      }
    }
    tables[2].rows.push({
      bytes,
      parley: lengths.ours,
      "sdk codec": lengths.sdk,
      "bare gcm": lengths.floor,
      "gcm, key per token": lengths.derived,
    });
    for (const at of [0, 1]) {
      const found = await interleave(REPEATS, sides[at]);
      tables[at].rows.push({
        bytes,
        parley: round(found.ours, 1),
        "sdk codec": round(found.sdk, 1),
        "bare gcm": round(found.floor, 1),
        "gcm, key per token": round(found.derived, 1),
        "parley/sdk": round(found.ours / found.sdk, 2),
        "parley/gcm": round(found.ours / found.floor, 2),
        "parley/key per token": round(found.ours / found.derived, 2),
      });
    }
  }
  return { tables };
}
