/** The contract of {@linkcode contractSuite}, kept by every local body. */
import {
  type Acquirable,
  BoundedSemaphore,
  Condition,
  type Guard,
  KeyedMutex,
  KeyedSemaphore,
  Lock,
  RwLock,
  Semaphore,
  TimeoutLock,
} from "../mod.ts";
import { contractSuite, type Subject } from "./contract_suite.ts";

function subjectOf(lock: Acquirable<Guard> & { readonly waiting: number }): Subject<Guard> {
  return { lock, waiting: () => lock.waiting };
}

function condition(): Subject<Guard> {
  const lock = new Lock();
  return { lock: new Condition(lock), waiting: () => lock.waiting };
}

contractSuite({ name: "Lock", make: () => subjectOf(new Lock()) });
contractSuite({ name: "TimeoutLock", make: () => subjectOf(new TimeoutLock(60_000)) });
contractSuite({ name: "Condition", make: condition, hasPlace: false });
contractSuite({ name: "Semaphore", make: () => subjectOf(new Semaphore(1)) });
contractSuite({ name: "BoundedSemaphore", make: () => subjectOf(new BoundedSemaphore(1)) });
contractSuite({ name: "RwLock.writer", make: () => subjectOf(new RwLock().writer) });
contractSuite({ name: "KeyedMutex.at", make: () => subjectOf(new KeyedMutex<string>({ name: "users" }).at("key")) });
contractSuite({ name: "KeyedSemaphore.at", make: () => subjectOf(new KeyedSemaphore<string>(1).at("key")) });
