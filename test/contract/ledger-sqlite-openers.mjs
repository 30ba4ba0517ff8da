/** Opens new files at given moments, as other processes do: node ledger-sqlite-openers.mjs <folder> <first moment, ms>. */
import { sqliteLedger } from "../../dist/ledger/sqlite.js";

const [folder, first] = process.argv.slice(2);
for (let file = 0; file < 30; file++) {
  while (Date.now() < Number(first) + file * 30);
  await sqliteLedger({ path: `${folder}/opened-${file}.sqlite` }).close();
}
