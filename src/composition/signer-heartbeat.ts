import type { HealthFact } from '../observability/health.ts';
import type { CheckpointSigner } from '../ports/audit.ts';
import type { Log } from '../ports/log.ts';
import { Recurring } from '../runtime/util/recurring.ts';
import { messageOf } from '../runtime/util/message-of.ts';

/** Whether the signer answers. */
export interface SignerHeartbeat {
  /** False once it has been silent for longer than any of its work takes. */
  isAlive(): boolean;
  health(): readonly HealthFact[];
  close(): Promise<void>;
}

export interface HeartbeatOptions {
  /** Anything it answers at once and that changes nothing. */
  readonly signer: Pick<CheckpointSigner, 'auditIdentity'>;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Milliseconds that no clock change touches; default `performance.now`. */
  readonly monotonicMs?: () => number;
  readonly everyMs?: number;
  readonly silentAfterMs?: number;
}

const EVERY_MS = 2_000;
/** Exporting a pool keeps it busy for seconds; a dead one is noticed all the same before anybody asks for a refund. */
const SILENT_AFTER_MS = 10_000;

/**
 * Asks the signer for a sign of life again and again: without, its death would be noticed by the first refund after it.
 */
export function startSignerHeartbeat({
  signer,
  log,
  monotonicMs = () => performance.now(),
  everyMs = EVERY_MS,
  silentAfterMs = SILENT_AFTER_MS,
}: HeartbeatOptions): SignerHeartbeat {
  let lastMs = monotonicMs();
  let fault = 'it does not answer';
  let wasAlive = true;
  let asked = false;
  const isAlive = (): boolean => monotonicMs() - lastMs <= silentAfterMs;
  const tell = (): void => {
    if (isAlive() === wasAlive) return;
    wasAlive = isAlive();
    if (wasAlive) log.info({}, 'the signer answers again');
    else log.error({ fault }, 'the signer does not respond: nothing is paid out and no checkpoint is signed');
  };
  const ask = async (): Promise<void> => {
    tell();
    // A question that hangs is not repeated: its answer, or its end, is waited for.
    if (asked) return;
    asked = true;
    void signer
      .auditIdentity()
      .then(() => (lastMs = monotonicMs()))
      .catch((error: unknown) => (fault = messageOf(error)))
      .finally(() => {
        asked = false;
        tell();
      });
  };
  const rounds = new Recurring(ask, everyMs, () => undefined);
  rounds.start();
  return {
    isAlive,
    health: () => {
      const silentSec = Math.round((monotonicMs() - lastMs) / 1000);
      return isAlive()
        ? [{ name: 'signer', state: 'ok', detail: 'answers' }]
        : [
            {
              name: 'signer',
              state: 'degraded',
              detail: `silent for ${silentSec} s, so nothing is paid out and no checkpoint is signed: ${fault}`,
            },
          ];
    },
    close: () => rounds.close(),
  };
}
