/** A guard as the broken variants hand it out. */
export interface Guard extends Disposable, AsyncDisposable {
  readonly held: boolean;
  release(): void;
}

/** A guard that releases at most `most` times. */
export function once(giveBack: () => void, most = 1): Guard {
  let left = most;
  const release = () => {
    if (left-- > 0) giveBack();
  };
  return {
    get held() {
      return left > 0;
    },
    release,
    [Symbol.dispose]: release,
    [Symbol.asyncDispose]: () => Promise.resolve(release()),
  };
}
