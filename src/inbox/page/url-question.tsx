/** Consent to visit a web address (E13 to E24; rules L1 to L9). No part of it is a link. */
import { useState } from "preact/hooks";
import type { UrlQuestionView } from "../../present/index.ts";
import type { AcceptableUrl } from "../../present/url.ts";
import { FocusHeading, Notice, TooEarly } from "./controls.tsx";
import type { Decide } from "./decide.ts";
import { useGuard } from "./guard.ts";
import { openPage } from "./opener.ts";
import { Framed } from "./server-text.tsx";
import { WaysOut } from "./ways-out.tsx";

export function UrlQuestion({ view, id, decide }: { view: UrlQuestionView; id: string; decide: Decide }) {
  if (!view.url.ok) return null;
  return (
    <>
      <Framed label="The server says" text={view.message} />
      <Address url={view.url} />
      {view.repeated ? (
        <Again decide={decide} id={id} url={view.url} />
      ) : (
        <First decide={decide} id={id} url={view.url} />
      )}
    </>
  );
}

/** The whole address; what somebody registered stands out, and is said once more in words (L2 to L4). */
export function Address({ url }: { url: AcceptableUrl }) {
  const { before, subdomain, domain, after } = url.pieces;
  return (
    <dl class="address">
      <dt>The whole address</dt>
      <dd class="url">
        <bdi>
          {before}
          {subdomain}
          <strong>{domain}</strong>
          {after}
        </bdi>
      </dd>
      <dt>The site</dt>
      <dd>
        <bdi class="site">{url.registrableDomain}</bdi>
      </dd>
      {url.unicodeHost !== undefined && (
        <>
          <dt>The same host in the letters it stands for, which may look like others</dt>
          <dd>
            <bdi>{url.unicodeHost}</bdi>
          </dd>
        </>
      )}
    </dl>
  );
}

type Props = { decide: Decide; id: string; url: AcceptableUrl };

function First({ decide, id, url }: Props) {
  const [asking, setAsking] = useState<"no" | "opening" | "untold" | "unknown" | "blocked">("no");
  const guard = useGuard(`${id} ${asking}`);
  const open = async () => {
    if (asking === "opening" || decide.busy) return;
    setAsking("opening");
    const opened = await openPage(url.href);
    if (opened === "opened") await tell();
    else setAsking(opened);
  };
  /** Once the page is open it is not opened again, whatever becomes of the telling. */
  const tell = async () => {
    if ((await decide.decide({ action: "accept" })) !== undefined) setAsking("untold");
  };
  if (asking === "untold") {
    return (
      <div {...guard.props}>
        <FocusHeading level={3}>The page opened, but the server was not told</FocusHeading>
        <TooEarly pressedEarly={guard.pressedEarly} />
        <div class="actions">
          <button type="button" class="primary" onClick={() => void tell()}>
            Tell it now
          </button>
          <WaysOut decide={decide} />
        </div>
      </div>
    );
  }
  if (asking === "unknown" || asking === "blocked") {
    return (
      <div {...guard.props}>
        <FocusHeading level={3}>
          {asking === "blocked" ? "The browser did not open the page" : "Did the page open?"}
        </FocusHeading>
        <p>
          Nothing has been sent yet. Your browser{" "}
          {asking === "blocked" ? "refused to open" : "did not say whether it opened"} the page; it may block new
          windows from this address.
        </p>
        <TooEarly pressedEarly={guard.pressedEarly} />
        <div class="actions">
          {asking === "unknown" && (
            <button type="button" class="primary" onClick={() => void tell()}>
              Yes, it opened
            </button>
          )}
          <button type="button" onClick={() => void open()}>
            Try to open it again
          </button>
          <WaysOut decide={decide} />
        </div>
      </div>
    );
  }
  return (
    <div {...guard.props}>
      <p class="hint">
        Nothing has been opened or fetched. The page opens in a new tab of your browser; neither this inbox nor a model
        sees what you do there.
      </p>
      <TooEarly pressedEarly={guard.pressedEarly} />
      <div class="actions">
        <button type="button" class="primary" aria-disabled={asking === "opening"} onClick={() => void open()}>
          Open <bdi>{url.registrableDomain}</bdi>
        </button>
        <WaysOut decide={decide} />
      </div>
    </div>
  );
}

/** The same address came back: consent was given already, so it is neither asked again nor opened by itself (E24, L9). */
function Again({ decide, id, url }: Props) {
  const guard = useGuard(`${id} again`);
  const [kept, setKept] = useState(false);
  const [reopened, setReopened] = useState<string>();
  return (
    <div {...guard.props}>
      <p>
        You agreed to this address before, and the server is still waiting for what happens there. It was not opened
        again.
      </p>
      {kept && <Notice>It waits here. Come back when you are done there.</Notice>}
      {reopened !== undefined && reopened !== "opened" && (
        <Notice tone="bad">The browser may have blocked the page.</Notice>
      )}
      <TooEarly pressedEarly={guard.pressedEarly} />
      <div class="actions">
        <button type="button" class="primary" onClick={() => void decide.decide({ action: "accept" })}>
          Check now
        </button>
        <button type="button" onClick={() => setKept(true)}>
          Keep waiting
        </button>
        <button type="button" onClick={() => void openPage(url.href).then(setReopened)}>
          Open it once more
        </button>
        <WaysOut decide={decide} />
      </div>
    </div>
  );
}
