/** What is used of a pg `Pool`. Callbacks, because pg makes several promises of each, and a claim is one query. */
export interface PostgresPool {
  connect(
    callback: (
      error: Error | undefined,
      client: PostgresClient | undefined,
      release: (destroy?: boolean) => void,
    ) => void,
  ): void;
}

export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  query(query: PostgresQuery, callback: (error: Error | null, result: PostgresResult) => void): void;
  once(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
}

export interface PostgresQuery {
  text: string;
  values: unknown[];
  name?: string;
}

export interface PostgresResult {
  rows: Record<string, unknown>[];
  /** Rows that were written, for a statement that writes. */
  rowCount: number | null;
}
