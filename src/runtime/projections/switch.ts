import type { ProjectionWork } from './work.ts';
import type { ProjectionGroup } from './group.ts';

/** How long what is served may stand still for what is built to reach it. */
const MEET_TIMEOUT_MS = 2_000;

/**
 * Runs `work` while the group of what was built and the groups of what is served stand still, the first no less far
 * than the others, so that nobody sees rows go back. Answers what `work` does; false when they do not meet in time:
 * they are left as they were.
 */
export async function whileTheyStand(
  built: ProjectionGroup,
  serving: readonly ProjectionGroup[],
  work: () => Promise<boolean>,
): Promise<boolean> {
  const goOn: (() => void)[] = [];
  try {
    for (const group of serving) goOn.push(await group.hold());
    for (const { position } of serving) if (position !== null && !(await reachedInTime(built, position))) return false;
    goOn.push(await built.hold());
    return await work();
  } finally {
    for (const release of goOn) release();
  }
}

async function reachedInTime(group: ProjectionGroup, position: string): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, MEET_TIMEOUT_MS, false)));
  try {
    return await Promise.race([
      late,
      group.reached(position).then(
        () => true,
        () => false,
      ),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** What was built goes on as what is served: `served` in the place of `next`. */
export function takePlace(
  next: ProjectionWork,
  served: ProjectionWork,
  built: ProjectionGroup,
  serving: readonly ProjectionGroup[],
): void {
  for (const group of serving)
    for (const work of group.works) if (work.projection === next.projection) group.works.delete(work);
  built.works.delete(next);
  built.works.add(served);
}
