/** The contract of {@linkcode contractSuite}, kept by every local body. */
import {
  type Acquirable,
  BoundedSemaphore,
  Condition,
  type Guard,
  KeyedMutex,
  Lock,
  RwLock,
  Semaphore,
  TimeoutLock,
} from "../mod.ts";
import { type Body, contractSuite } from "./contract_suite.ts";

function body(held: Acquirable<Guard> & { readonly waiting: number }): Body<Guard> {
  return { held, waiting: () => held.waiting };
}

function oneKey(): Body<Guard> {
  const mutex = new KeyedMutex<string>();
  return {
    held: {
      acquire: (options) => mutex.acquire("key", options),
      tryAcquire: () => mutex.tryAcquire("key"),
      run: (fn, options) => mutex.run("key", fn, options),
    },
    waiting: () => mutex.waiting("key"),
  };
}

function condition(): Body<Guard> {
  const lock = new Lock();
  return { held: new Condition(lock), waiting: () => lock.waiting };
}

contractSuite({ name: "Lock", make: () => body(new Lock()) });
contractSuite({ name: "TimeoutLock", make: () => body(new TimeoutLock(60_000)) });
contractSuite({ name: "Condition", make: condition, hasPlace: false });
contractSuite({ name: "Semaphore", make: () => body(new Semaphore(1)) });
contractSuite({ name: "BoundedSemaphore", make: () => body(new BoundedSemaphore(1)) });
contractSuite({ name: "RwLock.writer", make: () => body(new RwLock().writer) });
contractSuite({ name: "KeyedMutex", make: oneKey, hasPlace: false });
contractSuite({ name: "KeyedMutex.at", make: () => body(new KeyedMutex<string>({ name: "users" }).at("key")) });
contractSuite({ name: "Lock with a name", make: () => body(new Lock({ name: "orders" })) });
