/** What is used of a pg `Pool`. */
export interface TasksPool {
  query(query: TasksQuery): Promise<{ rows: Record<string, unknown>[] }>;
  connect(): Promise<TasksClient & { release(destroy?: boolean): void }>;
}

export interface TasksClient {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

export interface TasksQuery {
  text: string;
  values: unknown[];
}
