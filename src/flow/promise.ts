import type { Asker } from "../replay/round.ts";

/**
 * A promise as an author gets it.
 *
 * - It says when it is first awaited (or raced, or chained): a question that never is was asked by mistake.
 * - It counts as looked after. A flow that is suspended awaits one question while others it holds may end in a "no";
 *   that must not be an unhandled rejection, which would end the process. The author's own await still throws.
 *
 * A class, since `await` calls the `then` of what is not a plain promise. Own members on a plain one do it, too, but V8
 * then gives up its fast path for every promise of the process: awaits took a third longer.
 */
export class FlowPromise<T> extends Promise<T> {
  #asker: Asker | undefined;
  #key = "";

  /** What is chained to it is a plain promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** @param read What the author gets of what `source` gives; it may throw. */
  static of<S, T>(asker: Asker, key: string, source: Promise<S>, read: (value: S) => T): FlowPromise<T> {
    const own = new FlowPromise<T>((resolve, reject) => {
      source.then((value) => {
        try {
          resolve(read(value));
        } catch (error) {
          reject(error);
        }
      }, reject);
    });
    own.#key = key;
    // Looked after, and not yet awaited.
    own.then(undefined, ignore);
    own.#asker = asker;
    return own;
  }

  // biome-ignore lint/suspicious/noThenProperty: that is how it learns that it is awaited.
  override then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#asker?.awaited(this.#key);
    return super.then(fulfilled, rejected);
  }
}

function ignore(): void {}
