/** Starting a call by hand: a server, one of its tools, and the arguments. */
import { useEffect, useState } from "preact/hooks";
import type { CallView, InboxView, ServerItem, StartRequest, ToolItem } from "../api.ts";
import { path } from "./client.ts";
import { usePage, useResource } from "./context.ts";
import { FocusHeading, Notice } from "./controls.tsx";
import { Form } from "./form.tsx";
import type { Problems } from "./form-state.ts";
import { JsonArguments } from "./json-arguments.tsx";
import { go, hrefOf } from "./route.ts";
import { Framed, Quoted } from "./server-text.tsx";

export function StartScreen({ server }: { server: string | undefined }) {
  const inbox = useResource<InboxView>("/api/inbox");
  const chosen = inbox.value?.servers.find(({ id }) => id === server);
  useEffect(() => {
    document.title = "New call · Parley inbox";
  }, []);
  return (
    <>
      <FocusHeading level={1}>Start a call</FocusHeading>
      {inbox.problem !== undefined && inbox.value === undefined && <Notice tone="bad">{inbox.problem.message}</Notice>}
      {inbox.value !== undefined && <Servers servers={inbox.value.servers} chosen={server} />}
      {chosen !== undefined && !chosen.muted && <Tools key={chosen.id} server={chosen} />}
    </>
  );
}

function Servers({ servers, chosen }: { servers: readonly ServerItem[]; chosen: string | undefined }) {
  if (servers.length === 0) return <p>This inbox has no servers. They are named when it is started.</p>;
  return (
    <nav class="card" aria-labelledby="which-server">
      <h2 id="which-server">Which server?</h2>
      <ul class="pick">
        {servers.map((server) => (
          <li key={server.id}>
            {server.muted ? (
              <p class="muted">
                <bdi>{server.name}</bdi> is muted
              </p>
            ) : (
              <a
                class="button"
                href={hrefOf({ view: "start", server: server.id })}
                {...(server.id === chosen ? { "aria-current": "page" as const } : {})}
              >
                <bdi>{server.name}</bdi>
                {server.status === "unreachable" && " (could not be reached)"}
              </a>
            )}
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Tools({ server }: { server: ServerItem }) {
  const tools = useResource<readonly ToolItem[]>(path`/api/servers/${server.id}/tools`);
  const [chosen, setChosen] = useState<string>();
  const tool = tools.value?.find((each) => keyOf(each) === chosen);
  if (tools.value === undefined) {
    return tools.problem === undefined ? <p>Loading…</p> : <Notice tone="bad">{tools.problem.message}</Notice>;
  }
  if (tools.value.length === 0) return <p>This server offers nothing to call.</p>;
  return (
    <>
      <fieldset class="card">
        <legend>
          <h2>What should it run?</h2>
        </legend>
        {tools.value.map((each) => (
          <label key={keyOf(each)} class="choice tool">
            <input type="radio" name="tool" checked={keyOf(each) === chosen} onChange={() => setChosen(keyOf(each))} />
            <span>
              <bdi class="label">{each.label}</bdi> <span class="wire">{each.method}</span>
              {each.destructive && <span class="badge failed">May change or delete things</span>}
              {each.description !== undefined && (
                <span class="description">
                  <bdi>{each.description.text}</bdi>
                </span>
              )}
            </span>
          </label>
        ))}
      </fieldset>
      {tool !== undefined && <Arguments key={keyOf(tool)} server={server} tool={tool} />}
    </>
  );
}

function Arguments({ server, tool }: { server: ServerItem; tool: ToolItem }) {
  const { api } = usePage();
  const [problem, setProblem] = useState<string>();
  const start = async (values: Readonly<Record<string, unknown>>): Promise<Problems | undefined> => {
    const { method, target } = tool;
    const given = method === "resources/read" ? {} : { arguments: values };
    const request: StartRequest = { server: server.id, method, target, ...given };
    const reply = await api.post<CallView>("/api/calls", request);
    setProblem(reply.ok ? undefined : reply.problem.message);
    if (reply.ok) go({ view: "call", id: reply.value.id });
    else if (reply.problem.fields.size > 0) return reply.problem.fields;
    return undefined;
  };
  const words = {
    review: "Review the call",
    heading: "This will run",
    nothing: "It runs without arguments.",
    send: "Start the call",
  };
  return (
    <section class="card" aria-labelledby="arguments">
      <h2 id="arguments">
        Run <Quoted text={tool.label} /> on <bdi>{server.name}</bdi>
      </h2>
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      {tool.json !== undefined ? (
        <>
          <Framed label="The server’s rules for the arguments" text={tool.json.schema} />
          <JsonArguments words={words} onSend={start} />
        </>
      ) : (
        <Form
          id="arguments-form"
          fields={tool.form?.fields ?? []}
          confirmation={false}
          frameLabel="Arguments, as the server describes them"
          {...(tool.form?.fields.length ? {} : { lead: <p>This takes no arguments.</p> })}
          words={words}
          onSend={start}
        />
      )}
    </section>
  );
}

function keyOf({ method, target }: ToolItem): string {
  return `${method} ${target}`;
}
