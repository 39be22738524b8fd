import type { Config } from '../../config.ts';
import { keptAnchors } from '../../signer/audit/signer.ts';
import { journalDirectory } from '../../settings/journal-directory.ts';
import type { HealthFact } from '../../observability/health.ts';
import type { AuditIdentity, AuditState } from '../../ports/event-log/audit.ts';
import type { RunningAudit } from '../../features/audit/running-audit.ts';
import { createSequencer, RESTORE } from './sequencer.ts';
import { startSharedAudit } from './shared.ts';
import { AuditThread } from './thread.ts';
import { PROJECTIONS } from '../../look-ups/projections.ts';
import { projectionId } from '../../runtime/projections/batch.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import type { ServiceParts } from '../service-parts.ts';
import type { OwnLog } from '../storage/parts.ts';
import { must } from '../../domain/values/must.ts';

/**
 * Resolves once the whole history has been read and verified, or a fault was found; this precedes every other reader
 * and writer. Afterwards the history is reread continuously in the background, and checkpoints are signed. Any
 * difference makes the service read-only: the store refuses appends from that moment on.
 */
export async function startAudit(parts: ServiceParts): Promise<RunningAudit> {
  const { config, storage, log, checkpointSigner } = parts;
  if (storage.sharedLog) return startSharedAudit(parts, storage.sharedLog);
  const store = must(storage.ownLog);
  const damaged = (message: string): void => {
    if (store.refusal === message) return;
    store.refuseAppends(message);
    log.error({ reason: message }, 'the event log has changed: the service is read-only');
  };
  if (store.refusal !== null)
    log.error({ reason: store.refusal }, 'the event log has changed: the service is read-only');
  const identity = (await checkpointSigner?.auditIdentity()) ?? null;
  const missing = await missingFrom(config.DATA_DIR, store, storage.readModel, identity);
  if (missing !== null) damaged(missing);
  const thread = new AuditThread(
    { dataDir: config.DATA_DIR, verifierKey: identity?.verifierKey ?? null, anchors: identity?.anchors ?? [] },
    {
      state: ({ fault }: AuditState) => {
        if (fault !== null) damaged(fault);
      },
      error: (error) => log.error({ err: error }, 'the event log cannot be checked; payouts wait'),
    },
  );
  await thread.checked;
  const sequencer =
    store.refusal === null
      ? await createSequencer(parts, { store, tree: thread, identity, isLeader: () => true, damaged })
      : null;
  if (!sequencer && store.refusal === null)
    log.warn({}, 'no checkpoints are signed: the signer needs a wallet and SIGNER_JOURNAL_DIR');
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

/** The same check for one command without a running service. A fault makes the log refuse appends. */
export async function checkOwnLog(
  config: Config,
  store: OwnLog,
  readModel: Pick<ReadModel, 'checkpoint'>,
): Promise<AuditState> {
  const missing = await missingFrom(config.DATA_DIR, store, readModel, null);
  if (missing !== null) store.refuseAppends(missing);
  const thread = new AuditThread(
    { dataDir: config.DATA_DIR, verifierKey: null, anchors: keptAnchors(journalDirectory(config)) },
    { state: () => undefined, error: () => undefined },
  );
  const { size, integrity, fault } = await thread.checked;
  await thread.stop();
  if (fault !== null) store.refuseAppends(fault);
  return { size, integrity: store.refusal === null ? integrity : 'damaged', fault: store.refusal };
}

/**
 * Why the log is shorter than something derived from it (what the signer has signed, or a look-up); null if it is not.
 */
export async function missingFrom(
  dataDir: string,
  store: Pick<OwnLog, 'head'>,
  readModel: Pick<ReadModel, 'checkpoint'>,
  identity: AuditIdentity | null,
): Promise<string | null> {
  const size = await sizeOf(store);
  const anchor = identity?.anchors.at(-1);
  if (identity && anchor && anchor.size > size) return lostEvents(dataDir, size, anchor.size, identity.anchorFile);
  const ahead = await lookUpAhead(readModel, size);
  return ahead && lookUpsAhead(dataDir, size, ahead);
}

/** Unknown for a log whose newest event cannot be read. */
const sizeOf = async (store: Pick<OwnLog, 'head'>): Promise<number> => {
  try {
    return Number((await store.head()) ?? 0);
  } catch {
    return 0;
  }
};

interface LookUpPlace {
  readonly name: string;
  readonly position: number;
}

/** A look-up with events that the log lacks. */
async function lookUpAhead(readModel: Pick<ReadModel, 'checkpoint'>, size: number): Promise<LookUpPlace | null> {
  for (const projection of PROJECTIONS) {
    const position = Number((await readModel.checkpoint(projectionId(projection))) ?? 0);
    if (position > size) return { name: projection.name, position };
  }
  return null;
}

const lookUpsAhead = (dataDir: string, size: number, { name, position }: LookUpPlace): string =>
  `the log in ${dataDir} ends after ${size} events, but the look-up ${name} had read event ${position}: events were lost, or an old copy was put ` +
  `in place. If an older copy was restored on purpose, stop the service and remove read-model.db with its -wal and -shm files.`;

const lostEvents = (dataDir: string, size: number, signed: number, file: string): string =>
  `the log in ${dataDir} ends after ${size} events, but ${signed} were signed: events were lost, or an old copy was put in place. ${RESTORE} ${file}.`;

/** For `/readyz` and the status page: reads continue, and every request that would change something is refused. */
export function auditHealth({ state, readOnly }: RunningAudit): HealthFact {
  const reason = readOnly();
  if (reason !== null) return { name: 'event-log', state: 'refusing', detail: `read-only: ${reason}` };
  const known = state();
  if (!known) return { name: 'event-log', state: 'ok', detail: 'checked by other processes' };
  const { integrity, size } = known;
  return {
    name: 'event-log',
    state: 'ok',
    detail: integrity === 'sound' ? `${size} events, intact` : `${size} events checked, payouts wait for the rest`,
  };
}
