import type {
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";

/** The suite's authorization server redirects at once, so no browser and no listener is needed. */
const REDIRECT_URL = "http://localhost:3000/callback";
const METADATA_URL = "https://conformance-test.local/client-metadata.json";
/** The revision asks for a limit to repeated authorization. Two scope levels are the most a scenario needs. */
const MOST_LOGINS = 3;

export interface Login {
  readonly provider: OAuthClientProvider;
  /** The query of the redirect that came back since the last call. */
  takeCallback(): URLSearchParams | undefined;
}

/** OAuth as the SDK does it, with everything kept in memory. `registered` skips dynamic registration. */
export function createBrowserlessLogin(registered?: StoredOAuthClientInformation): Login {
  let information = registered;
  let tokens: StoredOAuthTokens | undefined;
  let verifier = "";
  let callback: URLSearchParams | undefined;
  let logins = 0;
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT_URL,
    clientMetadataUrl: METADATA_URL,
    clientMetadata: { client_name: "parley-conformance", redirect_uris: [REDIRECT_URL] },
    clientInformation: () => information,
    saveClientInformation: (saved) => {
      information = saved;
    },
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved;
    },
    codeVerifier: () => verifier,
    saveCodeVerifier: (saved) => {
      verifier = saved;
    },
    redirectToAuthorization: async (url) => {
      if (++logins > MOST_LOGINS)
        throw new Error(`The server asked for ${logins} logins; the limit is ${MOST_LOGINS}.`);
      const { headers } = await fetch(url, { redirect: "manual" });
      const location = headers.get("location");
      if (location === null) throw new Error(`The authorization server did not redirect.`);
      callback = new URL(location).searchParams;
    },
  };
  return {
    provider,
    takeCallback: () => {
      const taken = callback;
      callback = undefined;
      return taken;
    },
  };
}
