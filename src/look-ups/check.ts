import type { HealthFact } from '../observability/health.ts';
import type { Logger } from '../observability/logger.ts';
import { CommandRefused } from '../operator/server/commands.ts';
import type { ProjectionComparison } from './compare.ts';

/** Whether the look-ups match a replay of the event log. */
export interface LookUpCheck {
  /** False until they were compared, and if they differ. */
  readonly mayPay: () => boolean;
  readonly health: () => HealthFact;
}

const REMEDY = 'run `quittance projection rebuild`, then `quittance projection compare`';

/**
 * Compares every look-up with a replay of the event log before anything is paid. `atStart`: false for a new event log,
 * where there is nothing to compare.
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

/** Fraction of time that proofs may use. */
const SHARE = 0.05;
/** Largest accumulated budget: the share of one hour. */
const SAVED_MS = SHARE * 3_600_000;

/**
 * Proves that a look-up matches the event log. Rejects if it does not, which also stops payments. A proof reads the
 * whole event log, and strangers cause one whenever they send dust to one of our addresses, so proofs use at most a
 * twentieth of the time: once that is used up, the result is false without a proof.
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
