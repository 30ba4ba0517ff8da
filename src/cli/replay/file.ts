import { readTranscript, type Transcript } from "../../transcript/index.ts";
import { readText } from "../files.ts";

/** @throws ParleyError `usage` when it cannot be read at all, `configuration` naming the line. */
export async function readTranscriptFile(path: string, cwd: string): Promise<Transcript> {
  return readTranscript(await readText(path, cwd, "transcript"));
}
