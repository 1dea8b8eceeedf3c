/** Puts locks into the reactive state of Vue and MobX, and prints which of them can be acquired there. */
import { Lock } from "@interlock/interlock";
import { makeAutoObservable, observable } from "mobx";
import { markRaw, reactive, ref, shallowReactive } from "vue";

class Store {
  lock = new Lock();
  constructor() {
    makeAutoObservable(this);
  }
}

const states = {
  reactive: reactive({ lock: new Lock() }),
  ref: { lock: ref(new Lock()).value },
  markRaw: reactive({ lock: markRaw(new Lock()) }),
  shallowReactive: shallowReactive({ lock: new Lock() }),
  observable: observable({ lock: new Lock() }),
  makeAutoObservable: new Store(),
};
const seen = {};
for (const [name, { lock }] of Object.entries(states)) {
  seen[name] = await lock.run((guard) => guard.held && lock.locked).catch((error) => error.name);
}
console.log(JSON.stringify(seen));
