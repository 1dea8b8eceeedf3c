/**
 * The commands of one client that have no answer yet, and when they count as unanswered: the only place where silence
 * is judged. Invariants: a command counts as unanswered only if neither its answer nor an answer to an earlier command,
 * or to the greeting of its connection, has come for the whole of its limit, and everything that has arrived was read;
 * one timer, set only while a command has no answer.
 *
 * Redis answers the commands of a connection in their order. So a command behind 50,000 others is not unanswered while
 * their answers come. An answer that overtakes an earlier command came over another connection, and proves nothing.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import { Timer } from "../../internal/timer.ts";
import { clockInForce } from "../../internal/timers.ts";
import type { Backend } from "../clients/backend.ts";
import { type Moment, moment, notBefore, now, SILENCE } from "../times.ts";

/** The caller of a command. */
export interface Sender {
  /** Whether it has ended, so that nothing more is sent. */
  readonly settled?: boolean;
  /** Local time at which it times out, even if answers to other commands come. Default: never. */
  readonly endsAt?: number;
  /** Whether its commands go ahead of others that the client has not taken yet. */
  readonly isUrgent?: boolean;
  /** Called when the command counts as unanswered: it may have run, or may still run, and its answer may still come. */
  unanswered(command: SentCommand): void;
  /** Called at its end while the command has no answer. */
  timeOut?(): void;
}

/** One command. As a moment, it is when it was handed to the client, or when the client that had it was connected. */
export class SentCommand implements Moment {
  at!: number;
  wallAhead!: number;
  /** Milliseconds of silence after which it counts as unanswered. */
  readonly limit: number;
  readonly sender: Sender;
  /** Whether the client has not taken it yet. */
  isHeldBack = false;
  /** The connection over which the client is to send it. */
  connection: Backend["connection"];
  // These are set by the list alone, which is a ring. A command is in a list, or has no `list`.
  list: Commands | undefined;
  /** Grows in the order of sending. */
  number = 0;
  previous: SentCommand = this;
  next: SentCommand = this;

  constructor(limit: number, sender: Sender) {
    this.limit = limit;
    this.sender = sender;
    this.restart();
  }

  /** Sets its moment to now: it was not handed over before. */
  restart(): void {
    Object.assign(this, moment());
  }

  /** Its sender waits for it no longer. Idempotent. */
  end(): void {
    this.list?.delete(this);
  }
}

// Captured at load, as a fake clock may replace them.
const clock = clockInForce();
const { setImmediate } = globalThis as { setImmediate?: (fn: () => void) => void };

/** Calls `fn` after the sockets have been read, or at once under a fake clock, which has its own order. */
function afterReading(fn: () => void): void {
  if (setImmediate === undefined || clockInForce() !== clock) fn();
  else setImmediate(fn);
}

export class Commands {
  /** Stands for the ends of the list: the commands follow it in the order of sending. */
  readonly #sentinel = new SentCommand(Infinity, { unanswered() {} });
  #count = 0;
  /** The time of the last answer that overtook no earlier command, or of the end of a block. */
  #heardAt = -Infinity;
  /** Whether a block of the event loop has ended since the last answer. */
  #wasBlocked = false;
  readonly #timer = new Timer((at) => this.#onTime(at), true);

  constructor(closing: AbortSignal) {
    onCancel({ signal: closing }, () => this.#endOverdue(Infinity, false));
  }

  /** Called when a command is handed over, to be sent over this connection. */
  add(command: SentCommand, connection?: Backend["connection"]): void {
    command.end();
    command.connection = connection;
    command.isHeldBack = false;
    command.restart();
    command.list = this;
    command.number = ++this.#count;
    command.next = this.#sentinel;
    command.previous = this.#sentinel.previous;
    command.previous.next = this.#sentinel.previous = command;
    this.#timer.setNoLaterThan(Math.min(command.at + command.limit, command.sender.endsAt ?? Infinity));
  }

  /** Called when the server has answered a command, perhaps after it counted as unanswered. */
  answered(command: SentCommand): void {
    const first = this.#sentinel.next;
    if (first !== this.#sentinel && command.number <= first.number) {
      this.#heardAt = now();
      this.#wasBlocked = false;
    }
    command.end();
  }

  delete(command: SentCommand): void {
    command.previous.next = command.next;
    command.next.previous = command.previous;
    command.previous = command.next = command; // a lease may keep this command, which must keep no others
    command.list = undefined;
    if (this.#sentinel.next === this.#sentinel) this.#timer.clear();
  }

  /** The milliseconds for which Redis has been silent, at most those since `at`. */
  silenceSince(at: number): number {
    return now() - Math.max(at, this.#heardAt);
  }

  #onTime(at: number): void {
    // A blocked event loop also sends nothing. Excused once, so that a busy process notices a silent server, too.
    if (now() - at > SILENCE && !this.#wasBlocked) {
      this.#wasBlocked = true;
      this.#heardAt = now();
    }
    afterReading(() => this.#endOverdue(notBefore(at)));
  }

  /** @param timesOut Whether to call `timeOut` of senders whose time is out, rather than `unanswered`. */
  #endOverdue(time: number, timesOut = true): void {
    const overdue: SentCommand[] = [];
    let nextDue = Infinity;
    for (let one = this.#sentinel.next; one !== this.#sentinel; one = one.next) {
      const { at, limit, connection, sender: { endsAt = Infinity } } = one;
      const due = Math.min(Math.max(at, this.#heardAt, connection?.heardAt ?? at) + limit, endsAt);
      if (due <= time) overdue.push(one);
      else nextDue = Math.min(nextDue, due);
    }
    this.#timer.setNoLaterThan(nextDue);
    for (const command of overdue) {
      const { sender } = command;
      command.end();
      if (timesOut && sender.endsAt! <= time) sender.timeOut!();
      else sender.unanswered(command);
    }
  }
}
