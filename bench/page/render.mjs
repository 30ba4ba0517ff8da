// A section is Markdown with marks for what a run fills in.

/**
 * - `{{run}}`: when, where and with what;
 * - `{{table NAME N}}`: table N of case NAME, from 0, with its title;
 * - `{{load NAME}}`: the load averages around a case.
 */
export function renderSection(template, report) {
  return template.replaceAll(/\{\{(\w+)(?: ([\w-]+))?(?: (\d+))?\}\}/g, (mark, kind, name, number) => {
    if (kind === "run") return describeRun(report);
    const found = report.cases[name];
    if (found === undefined) throw new Error(`${mark}: the run has no case ${name}`);
    if (kind === "load") return `load average ${found.loadBefore[0]} before, ${found.loadAfter[0]} after`;
    if (kind !== "table") throw new Error(`${mark}: what is that?`);
    if (found.skipped !== undefined) return `(Skipped in this run: ${found.skipped})`;
    const table = found.tables[Number(number)];
    if (table === undefined) throw new Error(`${mark}: the case has ${found.tables.length} tables`);
    return renderTable(table);
  });
}

function describeRun({ date, machine, versions, cases }) {
  const { cpu, cores, memoryGiB, system } = machine;
  const all = Object.assign({ ...versions }, ...Object.values(cases).map((each) => each.versions));
  const names = Object.entries(all).map((pair) => pair.join(" "));
  const loads = Object.values(cases).flatMap(({ loadBefore, loadAfter }) => [loadBefore[0], loadAfter[0]]);
  return [
    `${date.slice(0, 10)}, ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}; ${names.join(", ")}.`,
    `Load averages between ${Math.min(...loads)} and ${Math.max(...loads)}.`,
  ].join(" ");
}

function renderTable({ title, rows }) {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const numeric = columns.map((column) => rows.every((row) => typeof (row[column] ?? 0) === "number"));
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [
    `**${title}**`,
    "",
    line(columns),
    `|${numeric.map((right) => (right ? "---:" : "---")).join("|")}|`,
    ...rows.map((row) => line(columns.map((column) => textOf(row[column])))),
  ].join("\n");
}

function textOf(value) {
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : String(value ?? "");
}
