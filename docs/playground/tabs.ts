/** The scene that several tabs play together, where the browser has locks for them. */
import { WebLock } from "../../lib/web/mod.ts";
import type { Scene } from "./scenes.ts";

/** Work on the stage never ends once the stage is closed, but the other tabs wait for this lock. */
function untilClosed(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

const WebLockScene: Scene = {
  about: "One at a time in all tabs of this page. Open it in a second window, play in both, and close one of them.",
  code: 'using _ = await new WebLock("playground").acquire({ signal });',
  play(stage) {
    const lock = new WebLock("playground");
    return stage.each((lane, i) =>
      stage.part(
        lane,
        i,
        (signal, inside) => lock.run(() => Promise.race([inside(), untilClosed(signal)]), { signal }),
      )
    );
  },
};

export const tabScenes: Readonly<Record<string, Scene>> = "locks" in navigator ? { WebLock: WebLockScene } : {};
