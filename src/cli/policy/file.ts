import { ParleyError } from "../../errors.ts";
import { type FilePolicy, type PolicyOptions, readPolicy } from "../../policy/index.ts";
import { usageError } from "../exit.ts";
import { readJsonObject } from "../files.ts";

/** @throws ParleyError `usage` naming the place in the file, never what stands there. */
export async function readPolicyFile(path: string, cwd: string, options: PolicyOptions = {}): Promise<FilePolicy> {
  const file = await readJsonObject(path, cwd, "policy");
  try {
    return readPolicy(file, options);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const { path: place, what, remedy } = error.details;
    const where = place === "" ? "the file" : String(place);
    throw usageError(`the policy ${path}, ${where} ${String(what)}`, String(remedy), error);
  }
}
