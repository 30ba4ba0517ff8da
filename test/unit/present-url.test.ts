import { describe, expect, test } from "vitest";
import { type AcceptableUrl, inspectUrl } from "../../src/present/index.ts";

function accepted(raw: string): AcceptableUrl {
  const view = inspectUrl(raw);
  if (!view.ok) throw new Error(`refused: ${view.reason}`);
  return view;
}

describe("L1/E20/B36: only https, and http on this computer, judged after parsing", () => {
  test("positive control: an ordinary address has no warning, and what is opened is what the parser reads", () => {
    expect(accepted("https://accounts.bank.example/login?next=%2F#top")).toEqual({
      ok: true,
      href: "https://accounts.bank.example/login?next=%2F#top",
      pieces: { before: "https://", subdomain: "accounts.", domain: "bank.example", after: "/login?next=%2F#top" },
      host: "accounts.bank.example",
      registrableDomain: "bank.example",
      warnings: [],
    });
  });

  test.each([
    ["javascript:alert(1)", "javascript:"],
    ["java\nscript:alert(1)", "javascript:"],
    ["\u0000 JaVaScRiPt:alert(1)", "javascript:"],
    ["data:text/html,x", "data:"],
    ["file:///etc/passwd", "file:"],
    ["vbscript:x", "vbscript:"],
    ["blob:https://a.example/1", "blob:"],
    ["ftp://a.example/", "ftp:"],
    ["vscode://x.y/z", "vscode:"],
    ["ms-settings:", "ms-settings:"],
    ["http://bank.example/", "not encrypted"],
    ["http://127.0.0.1.evil.example/", "not encrypted"],
    ["http://localhost.evil.example/", "not encrypted"],
    ["http://0.0.0.0/", "not encrypted"],
    ["//bank.example/", "not a complete"],
    ["bank.example", "not a complete"],
    ["", "not a complete"],
    ["https://", "not a complete"],
    ["https://\u202eevil.example/", "not a complete"],
    [`https://a.example/${"x".repeat(2048)}`, "characters long"],
  ])("%j is refused, with its text shown", (raw, reason) => {
    const view = inspectUrl(raw);
    expect(view.ok).toBe(false);
    if (view.ok) return;
    expect(view.reason).toContain(reason);
    expect(view.shown).not.toMatch(/\p{C}/u);
    expect(view.shown.length).toBeLessThan(400);
  });

  test.each([undefined, null, 7, {}, ["https://a.example"]])("%j is refused and does not throw", (raw) => {
    expect(inspectUrl(raw).ok).toBe(false);
  });

  test.each([
    "http://localhost:3000/",
    "http://app.localhost/",
    "http://127.0.0.1:1/",
    "http://[::1]/",
    "http://0x7f.1/",
  ])("%s is this computer, and says so", (raw) => {
    expect(accepted(raw).warnings).toContain("leads to a program on this computer");
  });
});

describe("L2/L3: the emphasised host comes from the parsed address", () => {
  test.each([
    ["https://bank.example@evil.example/", "https://bank.example@", "", "evil.example", "/"],
    ["https://bank.example:pw@a.evil.example:8443/x", "https://bank.example:pw@", "a.", "evil.example", ":8443/x"],
    ["https://bank.example\\@evil.example/", "https://", "", "bank.example", "/@evil.example/"],
    ["https://me.github.io/", "https://", "", "me.github.io", "/"],
    ["https://x.me.github.io/", "https://", "x.", "me.github.io", "/"],
    ["https://a.b.co.uk/", "https://", "a.", "b.co.uk", "/"],
    ["https://github.io/", "https://", "", "github.io", "/"],
    ["https://[::1]:1/", "https://", "", "[::1]", ":1/"],
    ["https://bank.example.evil.example./p", "https://", "bank.example.", "evil.example", "./p"],
    ["https://evil.example/@evil.example", "https://", "", "evil.example", "/@evil.example"],
    ["https://bank.example@bank.example.evil.co.uk/", "https://bank.example@", "bank.example.", "evil.co.uk", "/"],
  ])("%s", (raw, before, subdomain, domain, after) => {
    const { pieces, href } = accepted(raw);
    expect(pieces).toEqual({ before, subdomain, domain, after });
    expect(Object.values(pieces).join("")).toBe(href);
  });
});

describe("L4/L5/E18: misleading spellings are warned about", () => {
  test.each([
    ["user name", "https://bank.example@evil.example/", "the site is evil.example"],
    [
      "punycode, both spellings",
      "https://xn--pple-43d.example/",
      "spells its site “xn--pple-43d.example”, which reads “аpple.example”",
    ],
    ["mixed script host", "https://xn--pple-43d.example/", "mixes alphabets"],
    ["whole-script look-alike", "https://аррӏе.example/", "looks like “apple”"],
    ["full-width host", "https://ｅｖｉｌ.example/", "means evil.example"],
    ["hidden soft hyphen", "https://ev\u00adil.example/", "⟨U+00AD⟩"],
    ["hex address", "https://0x7f000001/", "means 127.0.0.1"],
    ["integer address", "https://3232235777/", "means 192.168.1.1"],
    ["bare address", "https://192.0.2.1/", "bare number address"],
    ["IPv6", "https://[2001:db8::1]/", "bare number address"],
    ["trailing dot", "https://bank.example./", "ends in a dot"],
    ["port", "https://bank.example:8443/", "port 8443"],
    ["percent-encoded host", "https://%65vil.example/", "means evil.example"],
    ["local machine", "https://intranet/", "no dot"],
    ["characters the parser drops", "https://bank.example/a\tb\n", "written differently"],
    ["backslashes", "https:\\\\bank.example\\x", "written differently"],
  ])("%s", (_name, raw, warning) => {
    expect(accepted(raw).warnings.join("; ")).toContain(warning);
  });

  test("no warning or piece holds a hidden character", () => {
    const view = accepted("https://us\u202eer@ev\u00adil.example/\u202ex");
    expect(JSON.stringify(view)).not.toMatch(/\p{C}/u);
  });
});
