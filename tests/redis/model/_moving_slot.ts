/**
 * A cluster with one slot, which moves from one node to another key by key, as Redis does it: while it is open, a command
 * runs where all of its keys are, and an access of a script to a key that is not there ends the script.
 */
import type { Script } from "../../../lib/redis/scripts/script.ts";
import { KEYLESS, reply } from "./_lua.ts";
import { Network } from "./_network.ts";
import { MemoryRedis } from "./_redis.ts";

class Node extends MemoryRedis {
  migrating = false;

  has(key: string): boolean {
    return super.call("EXISTS", key) === 1;
  }

  override call(name: string, ...args: string[]): unknown {
    if (this.migrating && !KEYLESS.has(name) && !this.has(args[0]!)) {
      throw new Error("ERR Script attempted to access a non local key in a cluster node");
    }
    return super.call(name, ...args);
  }
}

export class MovingSlot extends Network {
  #source = new Node();
  #target = new Node();
  override redis: MemoryRedis = this.#source;

  override get cluster(): boolean {
    return true;
  }

  /** The keys that have not moved. */
  get left(): string[] {
    return this.#source.keys;
  }

  open(): void {
    this.#source.migrating = true;
  }

  move(key: string): void {
    this.#source.move(key, this.#target);
  }

  /** The slot belongs to the node that has all of its keys: the target, or the source again. */
  close(): void {
    this.#source.migrating = false;
    if (this.#target.keys.length === 0) return;
    for (const key of this.left) this.move(key);
    [this.#source, this.#target] = [this.#target, this.#source];
    this.redis = this.#source;
  }

  protected override reply(script: Script, keys: string[], args: string[]): unknown {
    const [source, target] = [this.#source, this.#target];
    if (!source.migrating || keys.every((key) => source.has(key))) return reply(source, script, keys, args);
    // With some of them here, or only some of them there. Else ASK sends the client there.
    if (keys.some((key) => source.has(key)) || (keys.length > 1 && !keys.every((key) => target.has(key)))) {
      throw new Error("TRYAGAIN Multiple keys request during rehashing of slot");
    }
    target.now = source.now;
    const answer = reply(target, script, keys, args);
    source.published.push(...target.published.splice(0));
    return answer;
  }
}
