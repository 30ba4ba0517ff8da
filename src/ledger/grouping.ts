/** One operation on its way into a group. */
interface Member<Op, Answer> {
  readonly op: Op;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends operations at once while few are under way, and puts those that come meanwhile into one group: one trip and one
 * commit for all of them, so that a busy server's store does not do the same work for each.
 */
export class Grouping<Op, Answer> {
  readonly #send: (ops: readonly Op[]) => Promise<readonly Answer[]>;
  readonly #most: number;
  readonly #atOnce: number;
  #waiting: Member<Op, Answer>[] = [];
  #underWay = 0;

  /**
   * @param send gives the answers in the order of the operations; when it rejects, none of them has an answer.
   * @param limits groups under way at once, and operations in one.
   */
  constructor(
    limits: { readonly atOnce: number; readonly most: number },
    send: (ops: readonly Op[]) => Promise<readonly Answer[]>,
  ) {
    this.#send = send;
    this.#most = limits.most;
    this.#atOnce = limits.atOnce;
  }

  do(op: Op): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ op, resolve, reject });
      if (this.#underWay < this.#atOnce) this.#next();
    });
  }

  #next(): void {
    const group = this.#waiting.splice(0, this.#most);
    if (group.length === 0) return;
    this.#underWay += 1;
    const ended = (tell: (member: Member<Op, Answer>, index: number) => void) => {
      this.#underWay -= 1;
      group.forEach(tell);
      this.#next();
    };
    this.#send(group.map(({ op }) => op)).then(
      (answers) => ended((member, index) => member.resolve(answers[index] as Answer)),
      (error) => ended((member) => member.reject(error)),
    );
  }
}
