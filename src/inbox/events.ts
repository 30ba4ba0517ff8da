import type { PendingStore, PendingSummary } from "../pending/contract.ts";
import type { InboxEvent } from "./api.ts";

/** Last versions told; more are forgotten, which costs at most an event that tells nothing new. */
const MAX_TOLD = 20_000;

/** Tells whoever listens what changed: by this process at once, by others when {@link told} is given their changes. */
export class Events {
  readonly #listeners = new Set<(event: InboxEvent) => void>();
  readonly #told = new Map<string, number>();

  subscribe(listener: (event: InboxEvent) => void): () => void {
    // A function of its own, so that one listener may subscribe twice.
    const own = (event: InboxEvent) => listener(event);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  emit(event: InboxEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  told(changes: readonly Pick<PendingSummary, "id" | "version">[]): void {
    for (const { id, version } of changes) {
      if ((this.#told.get(id) ?? 0) >= version) continue;
      if (this.#told.size >= MAX_TOLD) this.#told.clear();
      this.#told.set(id, version);
      this.emit({ type: "call", id, version });
    }
  }

  /** `store`, with its changes told. */
  watch(store: PendingStore): PendingStore {
    return {
      ...store,
      add: async (call) => {
        await store.add(call);
        this.told([{ id: call.id, version: 1 }]);
      },
      update: async (id, change) => {
        let version: number | undefined;
        const value = await store.update(id, (call) => {
          const made = change(call);
          version = made.call === undefined || made.quiet === true ? undefined : call.version + 1;
          return made;
        });
        if (version !== undefined) this.told([{ id, version }]);
        return value;
      },
      mute: async (server, muted) => {
        await store.mute(server, muted);
        this.emit({ type: "servers" });
      },
    };
  }
}
