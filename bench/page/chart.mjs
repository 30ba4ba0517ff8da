// Bars, as an SVG that reads on light and on dark ground.
const WIDTH = 760;
const LABELS = 330;
const BAR = 18;
const STEP = 28;
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #3d444d; }
  .title { font-weight: 600; }
  .ours { fill: #2f6fde; }
  .theirs { fill: #9aa3ad; }
  @media (prefers-color-scheme: dark) { text { fill: #c9d1d9; } .ours { fill: #6ea0ff; } .theirs { fill: #6e7681; } }
`;

/** What is drawn, and which names are ours. */
const PANELS = [
  {
    title: "Requests per second: the first of a call, 32 in flight",
    from: ({ request }) => request.tables[1].rows.map((row) => [row.server, row["per second"]]),
  },
  {
    title: "Whole calls of two rounds per second, 32 in flight (client, server)",
    from: (cases) => cases["two-round"].tables[0].rows.map((row) => [row["client, server"], row["calls per second"]]),
  },
];
const isOurs = (name) => /Parley|driver/.test(name);

export function drawChart({ cases }) {
  let y = 24;
  const parts = [];
  for (const { title, from } of PANELS) {
    const bars = from(cases);
    const most = Math.max(...bars.map(([, value]) => value));
    parts.push(`  <text class="title" x="0" y="${y}">${escaped(title)}</text>`);
    y += 16;
    for (const [name, value] of bars) {
      const width = Math.max(1, Math.round((value / most) * (WIDTH - LABELS - 80)));
      const middle = y + BAR - 5;
      parts.push(`  <text x="${LABELS - 10}" y="${middle}" text-anchor="end">${escaped(name)}</text>`);
      parts.push(
        `  <rect class="${isOurs(name) ? "ours" : "theirs"}" x="${LABELS}" y="${y}" width="${width}" height="${BAR}"/>`,
      );
      parts.push(`  <text x="${LABELS + width + 8}" y="${middle}">${value.toLocaleString("en")}</text>`);
      y += STEP;
    }
    y += 24;
  }
  const size = `width="${WIDTH}" height="${y - 24}" viewBox="0 0 ${WIDTH} ${y - 24}"`;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">\n  <title>Requests and calls per second</title>`;
  return `${head}\n  <style>${STYLE}</style>\n${parts.join("\n")}\n</svg>\n`;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
