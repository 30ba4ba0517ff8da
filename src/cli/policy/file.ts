import { ParleyError } from "../../errors.ts";
import { type FilePolicy, type PolicyOptions, readPolicy } from "../../policy/index.ts";
import { errorLine, usageError } from "../exit.ts";
import { readJsonObject } from "../files.ts";
import type { Io } from "../io.ts";

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

/** `--policy FILE`; when a rule's answer does not fit, that is said where the command runs. */
export async function readPolicyFlag(path: string | undefined, io: Io): Promise<FilePolicy | undefined> {
  if (path === undefined) return undefined;
  return readPolicyFile(path, io.cwd, {
    onWarning: ({ rule, key, reason }) => {
      const what = `the policy's rule ${JSON.stringify(rule)} does not answer ${JSON.stringify(key)}, ${reason}`;
      io.err(errorLine({ message: `warning: ${what}`, remedy: "a person is asked instead" }));
    },
  });
}
