/**
 * Finds the class that a decorated method was written in, which a decorator does not receive. Invariant: the remembered
 * name comes from an instance under construction or from the class itself, never from the receiver of a call, so it is
 * the same in every process.
 *
 * @module
 */

/** The parts of a decorator context that are used here. */
export type Decorated =
  & Pick<ClassMethodDecoratorContext, "kind" | "name" | "static">
  & Partial<Pick<ClassMethodDecoratorContext, "private" | "addInitializer" | "metadata">>;

/** The class of one method. */
export class MethodClass {
  readonly #context: Decorated;
  #name: string | undefined;

  constructor(context: Decorated) {
    this.#context = context;
    const find = (self: unknown) => this.#name ??= this.#atBirth(self);
    context.addInitializer?.(function (this: unknown) {
      find(this);
    });
  }

  /**
   * Its name, when called on `self`; undefined if it cannot be found, or if there is none.
   *
   * @param locked The replacement of the method: it has taken its place, or is wrapped by a function that has.
   */
  nameFor(self: unknown, locked: unknown): string | undefined {
    const name = this.#exact(self, locked) ?? this.#name;
    if (name !== undefined || (this.#context.addInitializer && !this.#context.private)) return name;
    return this.#only(self);
  }

  /** From the class, or from an instance of it or of one that extends it, as it is made. */
  #atBirth(self: unknown): string | undefined {
    if (this.#context.static) return this.#nameOf(self as object);
    return this.#marked(self) ?? this.#only(self);
  }

  /** Where the run-time or the compiler knows decorator metadata, each class has its own. */
  #marked(self: unknown): string | undefined {
    const { metadata } = this.#context;
    const key = (Symbol as { metadata?: symbol }).metadata;
    if (metadata === undefined || key === undefined) return undefined;
    const owner = this.#owners(self).find(({ constructor }) => valueOf(constructor, key) === metadata);
    return owner && this.#nameOf(owner);
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
