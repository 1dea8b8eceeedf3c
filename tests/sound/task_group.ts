import { stateOf } from "../../lib/internal/state.ts";
import type { TaskGroup } from "../../lib/task_group.ts";

type State = [tasks: number, places: { most: number }, failures: { size: number }, link: object | undefined];

export function assertSoundTaskGroup(taskGroup: TaskGroup): void {
  const { active, waiting, signal } = taskGroup;
  const [tasks, places, failures, link] = stateOf<State>(taskGroup);
  const isSound = tasks >= active + waiting && (link === undefined || tasks > 0) &&
    (failures.size === 0 || signal.aborted) && (waiting === 0 || active === places.most && !signal.aborted);
  if (!isSound) throw new Error(`unsound task group: ${tasks} tasks, ${active} active, ${failures.size} failures`);
}
