import type { Plan, Step } from './plan.ts';

/**
 * A smaller plan that still fails: ever smaller parts of its steps are left out, then single faults are shortened.
 * `fails` is asked at most `most` times.
 */
export async function shrink(
  plan: Plan,
  fails: (smaller: Plan) => Promise<boolean>,
  most: number,
  onProgress: (steps: number) => void,
): Promise<Plan> {
  let best = plan;
  let asked = 0;
  const tries = async (smaller: Plan): Promise<boolean> => {
    if (asked >= most) return false;
    asked += 1;
    if (!(await fails(smaller))) return false;
    best = smaller;
    onProgress(best.steps.length);
    return true;
  };
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < best.steps.length;)
      if (!(await tries({ ...best, steps: without(best.steps, from, size) }))) from += size;
  for (const name of ['sweepFrom', 'secondSourceFrom'] as const)
    if (best[name] !== null) await tries({ ...best, [name]: null });
  for (const [at, step] of best.steps.entries()) {
    if ('copies' in step && step.copies > 1)
      await tries({ ...best, steps: best.steps.with(at, { ...step, copies: 1 }) });
    if (!('forSec' in step)) continue;
    for (let forSec = step.forSec / 4; forSec >= 1; forSec /= 4)
      if (!(await tries({ ...best, steps: best.steps.with(at, { ...step, forSec }) }))) break;
  }
  return best;
}

/** A payment, a cancel or a refund without its order does nothing, so it goes with it. */
function without(steps: readonly Step[], from: number, size: number): Step[] {
  const left = steps.filter((_, at) => at < from || at >= from + size);
  const orders = new Set(left.flatMap((step) => (step.kind === 'order' ? [step.order] : [])));
  return left.filter((step) => step.kind === 'order' || !('order' in step) || orders.has(step.order));
}
