/**
 * Repository deletion. A person types the full name; what was shown is compared again in the moment of the deletion,
 * since minutes may have passed: another repository under the same name is not the one that was agreed to.
 * Run: npx parley serve examples/dist/repository-deletion/server.js --port 3000 --bearer-tokens examples/tokens.json
 */
import { type Principal, tool } from "mcp-parley";
import { z } from "zod";

interface Repository {
  /** Never used again, unlike the name. */
  readonly id: number;
  readonly owner: string;
  readonly issues: number;
}

/** Stands for your database. */
const repositories = new Map<string, Repository>();
let lastId = 0;

/** What the caller may delete. A consent never widens that: the caller's rights are checked before it and after. */
function ownedBy(caller: Principal | null, repository: string): Repository | null {
  const found = repositories.get(repository);
  return found !== undefined && found.owner === caller?.subject ? found : null;
}

/** Compares and deletes in one go; with a database, one statement: `DELETE ... WHERE name = ? AND id = ?`. */
function deleteIfUnchanged(caller: Principal | null, repository: string, id: number): boolean {
  return ownedBy(caller, repository)?.id === id && repositories.delete(repository);
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const failed = (value: string) => ({ ...text(value), isError: true });
const inputSchema = z.object({ repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/, "must be owner/name") });

export const deleteRepository = tool(
  "delete_repository",
  {
    description: "Deletes a repository for good after a person typed its full name",
    inputSchema,
    annotations: { destructiveHint: true },
  },
  async ({ repository }, flow) => {
    const shown = await flow.step("repository", () => ownedBy(flow.caller, repository));
    if (shown === null) return failed(`You have no repository ${repository}.`);
    // A decline or a dismissed dialog throws here; the call then ends with a plain result that says so.
    const { typed } = await flow.form("typed-name", {
      message: `Delete ${repository} with ${shown.issues} open issues? This cannot be undone. Type its full name to confirm.`,
      schema: z.object({ typed: z.string().meta({ title: "Full name" }) }),
    });
    if (typed !== repository) return failed("The name does not match. Nothing was deleted.");
    const deleted = await flow.step("delete", () => deleteIfUnchanged(flow.caller, repository, shown.id));
    if (!deleted) return failed(`${repository} is not what it was when you were asked. Nothing was deleted.`);
    return text(`Deleted ${repository}.`);
  },
);

export const createRepository = tool(
  "create_repository",
  { description: "Creates an empty repository", inputSchema },
  async ({ repository }, flow) => {
    const owner = flow.caller?.subject;
    if (owner === undefined) return failed("Sign in to create repositories.");
    if (repositories.has(repository)) return failed(`${repository} exists already.`);
    lastId += 1;
    repositories.set(repository, { id: lastId, owner, issues: 0 });
    return text(`Created ${repository} with id ${lastId}.`);
  },
);

export const listRepositories = tool("list_repositories", { description: "Your repositories" }, async (_args, flow) => {
  const own = [...repositories.keys()].filter((repository) => ownedBy(flow.caller, repository) !== null);
  return text(own.join("\n"));
});

export const name = "repository-deletion";
export const version = "1.0.0";
export const flows = [deleteRepository, createRepository, listRepositories];
export default flows;
