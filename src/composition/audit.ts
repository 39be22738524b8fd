import type { HealthFact } from '../observability/health.ts';
import type { AuditState } from '../ports/audit.ts';
import type { RunningAudit } from '../features/audit/running-audit.ts';
import { createSequencer, RESTORE } from './audit-sequencer.ts';
import { startSharedAudit } from './audit-shared.ts';
import { AuditThread } from './workers/audit-thread.ts';
import type { ServiceParts } from './service-parts.ts';

/**
 * Has the history read in the background and checkpoints signed. Whatever is found to differ makes the service read-only: the
 * store refuses appends from that moment on.
 */
export async function startAudit(parts: ServiceParts): Promise<RunningAudit> {
  const { config, storage, log, checkpointSigner } = parts;
  if (storage.sharedLog) return startSharedAudit(parts, storage.sharedLog);
  const store = storage.ownLog!;
  const damaged = (message: string): void => {
    if (store.refusal === message) return;
    store.refuseAppends(message);
    log.error({ reason: message }, 'the ledger is not what it was: the service is read-only');
  };
  if (store.refusal !== null) log.error({ reason: store.refusal }, 'the ledger is not what it was: the service is read-only');
  const identity = (await checkpointSigner?.auditIdentity()) ?? null;
  const size = Number((await store.head()) ?? 0);
  const anchor = identity?.anchors.at(-1);
  if (identity && anchor && anchor.size > size) damaged(lostEvents(config.DATA_DIR, size, anchor.size, identity.anchorFile));
  const thread = new AuditThread(
    { dataDir: config.DATA_DIR, verifierKey: identity?.verifierKey ?? null, anchors: identity?.anchors ?? [] },
    {
      state: ({ fault }: AuditState) => {
        if (fault !== null) damaged(fault);
      },
      error: (error) => log.error({ err: error }, 'the ledger cannot be checked; payouts wait'),
    },
  );
  const sequencer = await createSequencer(parts, { store, tree: thread, identity, isLeader: () => true, damaged });
  if (!sequencer) log.warn({}, 'no checkpoints of the ledger are signed: the signer needs a wallet and SIGNER_JOURNAL_DIR');
  sequencer?.start();
  return {
    tree: thread,
    state: () => thread.state,
    verifierKey: () => identity?.verifierKey ?? null,
    identity,
    sequencer,
    signedAtMs: () => sequencer?.last?.atMs ?? null,
    readOnly: () => store.refusal,
    mayPay: () => store.refusal === null && thread.state.integrity === 'sound',
    close: async () => {
      await sequencer?.stop();
      await thread.stop();
    },
  };
}

const lostEvents = (dataDir: string, size: number, signed: number, file: string): string =>
  `the log in ${dataDir} ends after ${size} events, but ${signed} were signed: events were lost, or an old copy was put in place. ${RESTORE} ${file}.`;

/** For `/readyz` and the status page: reads go on, so the node stays in traffic. */
export function auditHealth({ state, readOnly }: RunningAudit): HealthFact {
  const reason = readOnly();
  if (reason !== null) return { name: 'ledger', state: 'degraded', detail: `read-only: ${reason}` };
  const known = state();
  if (!known) return { name: 'ledger', state: 'ok', detail: 'checked by other processes' };
  const { integrity, size } = known;
  return {
    name: 'ledger',
    state: 'ok',
    detail: integrity === 'sound' ? `${size} events, sound` : `${size} events checked, payouts wait for the rest`,
  };
}
