import type { HealthFact } from './health.ts';
import type { CheckpointSigner } from '../ports/event-log/audit.ts';
import type { Log } from '../ports/log.ts';
import { Recurring } from '../runtime/util/recurring.ts';
import { messageOf } from '../runtime/util/message-of.ts';

/** Whether the signer responds. */
export interface SignerHeartbeat {
  /** False once it has been silent for longer than any of its requests takes. */
  isAlive(): boolean;
  /** When the signer's directory was backed up last, as far as is known. Unix milliseconds. */
  backedUpAtMs(): number | null;
  health(): readonly HealthFact[];
  close(): Promise<void>;
}

export interface HeartbeatOptions {
  /** Any request that is answered at once and changes nothing. */
  readonly signer: Pick<CheckpointSigner, 'auditIdentity'>;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Monotonic milliseconds; default `performance.now`. */
  readonly monotonicMs?: () => number;
  readonly everyMs?: number;
  readonly silentAfterMs?: number;
}

const EVERY_MS = 2_000;
/** Exporting a pool keeps it busy for seconds; a dead signer should still be noticed before the next refund. */
const SILENT_AFTER_MS = 10_000;

/** Pings the signer periodically: otherwise the next refund would be the first to notice its death. */
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
  let backedUpAtMs: number | null = null;
  const isAlive = (): boolean => monotonicMs() - lastMs <= silentAfterMs;
  const tell = (): void => {
    if (isAlive() === wasAlive) return;
    wasAlive = isAlive();
    if (wasAlive) log.info({}, 'the signer responds again');
    else log.error({ fault }, 'the signer does not respond: nothing is paid out and no checkpoint is signed');
  };
  const ask = async (): Promise<void> => {
    tell();
    // A pending question is not repeated; its answer or failure is awaited.
    if (asked) return;
    asked = true;
    void signer
      .auditIdentity()
      .then((identity) => {
        lastMs = monotonicMs();
        backedUpAtMs = identity?.backedUpAtMs ?? null;
      })
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
    backedUpAtMs: () => backedUpAtMs,
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
