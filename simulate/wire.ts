/** The network between clients and replicas: lost, late, doubled and reordered messages; connections that break. */
import type { Cluster } from "./cluster.ts";
import type { Judge } from "./judge.ts";
import type { Delivery, Leg, Reply } from "./leg.ts";
import type { Incarnation } from "./replica.ts";
import type { RoundStage } from "./stage.ts";

type World = RoundStage & { readonly cluster: Cluster<Incarnation>; readonly judge: Judge };

export class Wire {
  readonly #world: World;
  #sent = 0;
  /** What clients ever put on the wire, for whoever listens. */
  readonly heard: { readonly leg: Leg; readonly at: number }[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * Sends a leg, once or twice, to any replica.
   * @param onReply called once per reply that arrives; `undefined` when a connection broke.
   * @returns what the client does when it goes away.
   */
  send(leg: Leg, onReply: (reply: Reply | undefined) => void): () => void {
    const { kernel, rng, config, faulty, log, names } = this.#world;
    const id = ++this.#sent;
    if (leg.must === "serve") this.heard.push({ leg, at: kernel.now });
    log(() => `${leg.from} sends #${id} ${leg.what} ${names.leg(leg)}`);
    const deliveries: Delivery[] = [];
    const copies = faulty() && rng.chance(config.duplicates) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) this.#carry(leg, id, deliveries, onReply);
    return () => {
      for (const { client, incarnation } of deliveries) {
        if (!incarnation.alive) continue;
        if (config.record === "rounds") incarnation.fault("client left");
        client.abort(new Error("client left"));
      }
    };
  }

  #carry(leg: Leg, id: number, deliveries: Delivery[], onReply: (reply: Reply | undefined) => void): void {
    const { kernel, rng, config, faulty, cluster, judge, log, count, names } = this.#world;
    const lost = () => faulty() && rng.chance(config.loss);
    if (lost()) {
      log(() => `#${id} is lost`);
      return;
    }
    kernel.after(rng.int(0, config.delayMs), undefined, () => {
      const target = cluster.any();
      if (target === undefined) {
        kernel.after(1, undefined, () => onReply(undefined));
        return;
      }
      // A paused process reads what came once it is back.
      kernel.after(0, target, () => {
        log(() => `${target.name} receives #${id}`);
        const delivery = target.serve(leg, id, (reply) => {
          log(() => `${target.name} answers #${id}: ${reply.kind} ${names.reply(reply)}`);
          count(`reply ${reply.reason ?? reply.kind}`);
          judge.replied(leg, reply);
          if (lost()) log(() => `answer to #${id} is lost`);
          else kernel.after(rng.int(0, config.delayMs), undefined, () => onReply(reply));
        });
        deliveries.push(delivery);
        target.open.set(delivery, () => {
          if (!lost()) kernel.after(rng.int(0, config.delayMs), undefined, () => onReply(undefined));
        });
      });
    });
  }
}
