/** The frame around every view: who is speaking, where to go, and whether what is shown is current. */
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { CallScreen } from "./call-view.tsx";
import type { Api } from "./client.ts";
import { PageProvider } from "./context.ts";
import { FocusHeading, Notice } from "./controls.tsx";
import { ListView } from "./list-view.tsx";
import { type Connection, useLive } from "./live.ts";
import { hrefOf, type Route, useRoute } from "./route.ts";
import { StartScreen } from "./start-view.tsx";

export function App({ api }: { api: Api }) {
  const route = useRoute();
  const live = useLive(api);
  const [said, setSaid] = useState("");
  const announce = useCallback((text: string) => setSaid(text), []);
  // Once signed in, the views stay: what was entered must survive a restart of the inbox.
  const signedIn = useRef(false);
  signedIn.current ||= live.connection === "live" || live.connection === "polling";
  const page = useMemo(() => ({ api, live, announce }), [api, live, announce]);
  return (
    <PageProvider value={page}>
      <header class="top">
        <a
          class="skip"
          href={location.hash || "#/"}
          onClick={(event) => {
            event.preventDefault();
            document.getElementById("main")?.focus();
          }}
        >
          Skip to the content
        </a>
        <p class="brand">
          <a href={hrefOf({ view: "inbox" })}>Parley inbox</a>
        </p>
        <nav aria-label="Main">
          <NavLink to={{ view: "inbox" }} route={route}>
            Inbox
          </NavLink>
          <NavLink to={{ view: "start" }} route={route}>
            New call
          </NavLink>
        </nav>
        <ConnectionState connection={live.connection} />
      </header>
      <main id="main" tabIndex={-1}>
        {live.connection === "ended" && <Ended kept={signedIn.current} />}
        {signedIn.current && <View route={route} />}
        {live.connection === "lost" && !signedIn.current && <p>The inbox cannot be reached.</p>}
      </main>
      <div class="visually-hidden" role="status">
        {said}
      </div>
    </PageProvider>
  );
}

function View({ route }: { route: Route }) {
  switch (route.view) {
    case "inbox":
      return <ListView />;
    case "call":
      return <CallScreen key={route.id} id={route.id} />;
    case "start":
      return <StartScreen key={route.server ?? ""} server={route.server} />;
  }
}

function NavLink({ to, route, children }: { to: Route; route: Route; children: string }) {
  return (
    <a href={hrefOf(to)} {...(to.view === route.view ? { "aria-current": "page" as const } : {})}>
      {children}
    </a>
  );
}

const WORDS: Record<Connection, string> = {
  connecting: "Connecting…",
  live: "Connected",
  polling: "Connected, looking for news every few seconds",
  lost: "Connection lost. What you see may be old; trying again…",
  ended: "Signed out",
};

function ConnectionState({ connection }: { connection: Connection }) {
  return (
    <p class={`connection ${connection}`} role="status">
      {WORDS[connection]}
    </p>
  );
}

function Ended({ kept }: { kept: boolean }) {
  return (
    <Notice tone="bad">
      <FocusHeading level={2}>This browser is not signed in</FocusHeading>
      <p>
        The inbox is open only to browsers that opened a one-time link of its own. Press Enter where it runs for another
        link, and open that here. Nothing was sent in your name.
        {kept && " What you entered here is kept, and goes on once this browser is signed in."}
      </p>
    </Notice>
  );
}
