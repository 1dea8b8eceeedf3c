/**
 * Which class was a decorated method written in? A decorator is not told, so the first instance has to tell. Invariant:
 * the answer is the same for every call of one method, whoever it is called on, or there is none.
 *
 * @module
 */

/** What a decorator is told about the method, as far as it matters here. */
export type Decorated =
  & Pick<ClassMethodDecoratorContext, "kind" | "name" | "static">
  & Partial<Pick<ClassMethodDecoratorContext, "private" | "addInitializer">>;

/** Looks for the class of `locked`, which has taken the method's place, or lies under what has. */
export class MethodClass {
  readonly #context: Decorated;
  #name: string | undefined;

  constructor(context: Decorated) {
    this.#context = context;
    const find = (self: unknown) => this.#name ??= this.#only(self);
    context.addInitializer?.(function (this: unknown) {
      find(this); // an instance of the class, or of one that extends it
    });
  }

  /** Its name, when called on `self`; undefined if nobody can tell, or if it has none. */
  nameFor(self: unknown, locked: unknown): string | undefined {
    this.#name ??= this.#exact(self, locked);
    return this.#name ?? this.#only(self);
  }

  /** The class that has the method itself, found also where others override it. */
  #exact(self: unknown, locked: unknown): string | undefined {
    const owner = this.#owners(self).find((owner) => valueOf(owner, this.#context.name) === locked);
    return owner && this.#nameOf(owner);
  }

  /** The only class that has a method of that name. */
  #only(self: unknown): string | undefined {
    const owners = this.#owners(self);
    return owners.length === 1 ? this.#nameOf(owners[0]!) : undefined;
  }

  /** Classes or prototypes, the nearest first, that have such a method; a private one might be of any of them. */
  #owners(self: unknown): object[] {
    const { name, static: isStatic, private: isPrivate } = this.#context;
    if (isStatic && isPrivate) return [Object(self)]; // it can be called on nothing else
    const owners: object[] = [];
    let owner = isStatic ? self : Object.getPrototypeOf(Object(self));
    for (; owner && owner !== Object.prototype && owner !== Function.prototype; owner = Object.getPrototypeOf(owner)) {
      if (Object.hasOwn(owner, isPrivate ? "constructor" : name)) owners.push(owner);
    }
    return owners;
  }

  #nameOf(owner: object): string | undefined {
    return ((this.#context.static ? owner : owner.constructor) as { name?: string } | undefined)?.name || undefined;
  }
}

function valueOf(owner: object, name: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(owner, name)?.value;
}
