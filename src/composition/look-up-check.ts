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
          log.error({ found, remedy: REMEDY }, 'look-ups are not what the ledger says: nothing is paid');
      },
      (error: unknown) =>
        log.error({ err: error, remedy: REMEDY }, 'look-ups cannot be compared with the ledger: nothing is paid'),
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
            detail: isChecked ? 'as the ledger says' : 'being compared with the ledger, payouts wait',
          }
        : {
            name: 'look-ups',
            state: 'degraded',
            detail: `payouts wait: not what the ledger says: ${names}; ${REMEDY}`,
          };
    },
  };
}

/** Rejects where a look-up is not what the event log says. What is found stops payments, too. */
export async function proveLookUp(comparison: Pick<ProjectionComparison, 'compare'>, name: string): Promise<void> {
  const found = (await comparison.compare(name)).find(({ differing }) => differing > 0);
  if (found)
    throw new CommandRefused(`${found.differing} rows of ${found.projection} are not what the ledger says: ${REMEDY}`);
}
