import type { HealthFact } from '../observability/health.ts';
import type { Logger } from '../observability/logger.ts';
import { CommandRefused } from '../operator/commands.ts';
import type { ProjectionComparison } from './workers/projection-compare.ts';

/** Whether the look-ups are what the event log makes of them. */
export interface LookUpCheck {
  /** False while they were not compared, or differ. */
  readonly mayPay: () => boolean;
  readonly health: () => HealthFact;
}

const REMEDY = 'run `quittance projection rebuild`, then `quittance projection compare`';

/**
 * Compares every look-up with a replay of the event log before anything is paid. `atStart`: false where the event log
 * has just begun, so that there is nothing to compare.
 */
export function startLookUpCheck(comparison: ProjectionComparison, atStart: boolean, log: Logger): LookUpCheck {
  let isChecked = !atStart;
  const differing = () => comparison.drift().filter(({ rows }) => rows > 0);
  if (atStart)
    void comparison.first().then(
      () => {
        isChecked = true;
        const found = differing();
        if (found.length > 0)
          log.error({ found, remedy: REMEDY }, 'look-ups differ from the event log: nothing is paid');
      },
      (error: unknown) =>
        log.error({ err: error, remedy: REMEDY }, 'look-ups cannot be compared with the event log: nothing is paid'),
    );
  return {
    mayPay: () => (isChecked || comparison.isWhole()) && differing().length === 0,
    health: () => {
      const found = differing();
      const names = found.map(({ projection, rows }) => `${projection} (${rows})`).join(', ');
      return found.length === 0
        ? {
            name: 'look-ups',
            state: 'ok',
            detail: isChecked ? 'equal to the event log' : 'being compared with the event log, payouts wait',
          }
        : {
            name: 'look-ups',
            state: 'degraded',
            detail: `payouts wait: different from the event log: ${names}; ${REMEDY}`,
          };
    },
  };
}

/** The part of all time that proofs may take. */
const SHARE = 0.05;
/** What they may take at most at once: their share of an hour. */
const SAVED_MS = SHARE * 3_600_000;

/**
 * Proves that a look-up is what the event log says. Rejects where it is not; what is found stops payments, too. A proof
 * reads the whole event log, and strangers cause one whenever they send dust to one of our addresses, so proofs
 * take a twentieth of the time at most: where that is used up there is none, and the answer is false.
 */
export function lookUpProof(
  comparison: Pick<ProjectionComparison, 'compare'>,
  name: string,
  nowMs: () => number = () => performance.now(),
): () => Promise<boolean> {
  let [leftMs, countedMs] = [SAVED_MS, nowMs()];
  return async () => {
    const startedMs = nowMs();
    leftMs = Math.min(SAVED_MS, leftMs + SHARE * (startedMs - countedMs));
    countedMs = startedMs;
    if (leftMs <= 0) return false;
    const compared = await comparison.compare(name);
    leftMs -= nowMs() - startedMs;
    const found = compared.find(({ differing }) => differing > 0);
    if (found)
      throw new CommandRefused(`${found.differing} rows of ${found.projection} differ from the event log: ${REMEDY}`);
    return true;
  };
}
