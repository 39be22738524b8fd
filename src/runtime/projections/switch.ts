import type { ProjectionWork } from './work.ts';
import type { ProjectionGroup } from './group.ts';
import { within } from '../util/within.ts';

/** How long the served rows may pause for the built ones to catch up. */
const MEET_TIMEOUT_MS = 2_000;

/**
 * Runs `work` while the groups of built and served rows are paused, with the built ones at least as far as the served
 * ones, so that rows never go back. Returns the result of `work`; false if they do not meet in time, which leaves
 * everything unchanged.
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

function reachedInTime(group: ProjectionGroup, position: string): Promise<boolean> {
  const reached = group.reached(position).then(
    () => true,
    () => false,
  );
  return within(MEET_TIMEOUT_MS, reached, () => false);
}

/** Makes built rows the served ones: replaces `next` with `served`. */
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
