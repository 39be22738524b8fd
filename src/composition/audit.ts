import { createSingleProcessLeases } from '../adapters/leases/single-process-leases.ts';
import { createHttpWitness } from '../adapters/witness/http-witness.ts';
import { AUDIT_STREAM } from '../domain/streams.ts';
import type { HealthFact } from '../ops/health.ts';
import { AuditTreeBehind, type AuditIdentity, type AuditState, type AuditTree } from '../ports/audit.ts';
import { SignAuditCheckpoints } from '../processes/sign-audit-checkpoints.process.ts';
import { AuditThread } from './audit-thread.ts';
import { ProjectionComparison } from './projection-compare.ts';
import type { ServiceParts } from './service-parts.ts';

/** The ledger under watch: whether it is what it was, and who signs that it is. */
export interface RunningAudit {
  readonly tree: AuditTree;
  /** Null when nobody signs. */
  readonly identity: AuditIdentity | null;
  readonly sequencer: SignAuditCheckpoints | null;
  /** Replays the ledger beside the look-ups; null where servers keep them. */
  readonly comparison: ProjectionComparison | null;
  /** Why nothing is written; null in health. */
  readonly readOnly: () => string | null;
  /** Money leaves only once the whole history was found to be what it was. */
  readonly mayPay: () => boolean;
  close(): Promise<void>;
}

/**
 * Has the history read in the background and checkpoints signed. Whatever is found to differ makes the service read-only: the
 * store refuses appends from that moment on.
 */
export async function startAudit({ config, storage, clock, random, log, checkpointSigner }: ServiceParts): Promise<RunningAudit> {
  const { ownLog: store } = storage;
  if (!store) return unaudited(log);
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
  const lastSigned = await store.lastOfStream(AUDIT_STREAM);
  const leases = createSingleProcessLeases(clock);
  const sequencer =
    identity && checkpointSigner
      ? new SignAuditCheckpoints({
          store,
          tree: thread,
          signer: checkpointSigner,
          identity,
          lastAtMs: lastSigned?.atMs ?? null,
          leases,
          clock,
          random,
          log,
          everyEvents: config.AUDIT_CHECKPOINT_EVENTS,
          everyMs: config.AUDIT_CHECKPOINT_SECONDS * 1000,
          witness: config.AUDIT_WITNESS_URL === undefined ? null : createHttpWitness(config.AUDIT_WITNESS_URL),
          onRefused: (message) => damaged(`the signer refuses: ${message}. ${RESTORE} ${identity.anchorFile}.`),
        })
      : null;
  if (!sequencer) log.warn({}, 'no checkpoints of the ledger are signed: the signer needs a wallet and SIGNER_JOURNAL_DIR');
  sequencer?.start();
  const comparison = new ProjectionComparison(config.DATA_DIR);
  return {
    tree: thread,
    identity,
    sequencer,
    comparison,
    readOnly: () => store.refusal,
    mayPay: () => store.refusal === null && thread.state.integrity === 'sound',
    close: async () => {
      await comparison.stop();
      await sequencer?.stop();
      await thread.stop();
      await leases.close();
    },
  };
}

/** The tree is built from a file of this process: on shared servers nothing is signed, and every event's hash is still checked as it is read. */
function unaudited(log: ServiceParts['log']): RunningAudit {
  log.warn({}, 'no checkpoints of the ledger are signed: on shared servers the tree over the ledger is not built');
  const behind = (): Promise<never> => Promise.reject(new AuditTreeBehind('the tree over the ledger is not built on shared servers'));
  const tree: AuditTree = {
    state: { size: 0, integrity: 'checking', fault: null },
    head: behind,
    inclusionProof: behind,
    consistencyProof: behind,
    leafOf: () => {
      throw new AuditTreeBehind('the tree over the ledger is not built on shared servers');
    },
  };
  return { tree, identity: null, sequencer: null, comparison: null, readOnly: () => null, mayPay: () => true, close: () => Promise.resolve() };
}

const RESTORE = 'If an older copy was restored on purpose, stop the service and move this file of the signer away:';

const lostEvents = (dataDir: string, size: number, signed: number, file: string): string =>
  `the log in ${dataDir} ends after ${size} events, but ${signed} were signed: events were lost, or an old copy was put in place. ${RESTORE} ${file}.`;

/** For `/readyz` and the status page: reads go on, so the node stays in traffic. */
export function auditHealth({ tree, comparison, readOnly }: RunningAudit): HealthFact {
  const reason = readOnly();
  if (reason !== null) return { name: 'ledger', state: 'degraded', detail: `read-only: ${reason}` };
  if (!comparison) return { name: 'ledger', state: 'ok', detail: 'kept by servers' };
  const { integrity, size } = tree.state;
  return {
    name: 'ledger',
    state: 'ok',
    detail: integrity === 'sound' ? `${size} events, sound` : `${size} events checked, payouts wait for the rest`,
  };
}
