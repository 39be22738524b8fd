import { holding } from '../../domain/values/written-json.ts';
import { AUDIT_STREAM } from '../../domain/values/streams.ts';
import { AuditTreeBehind, type AuditAnchor, type AuditIdentity, type AuditTree } from '../../ports/event-log/audit.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { SharedStatus } from '../../ports/shared-status.ts';
import { TILE_LEAVES } from '../../runtime/merkle/log.ts';
import { StoreAudit, type KeptTile } from '../../runtime/merkle/store-audit.ts';
import { StoreAuditTree } from '../../runtime/merkle/store-audit-tree.ts';
import { withLease, type LeaseGrant } from '../../runtime/leases/with-lease.ts';
import { KeptTiles } from '../../runtime/merkle/kept-tiles.ts';
import { createSequencer } from './sequencer.ts';
import type { RunningAudit } from '../../features/audit/running-audit.ts';
import type { ServiceParts } from '../service-parts.ts';
import type { SharedLog } from '../storage/parts.ts';
import { dataOf } from '../../runtime/commands/codec.ts';

const LEASE = 'sign-checkpoints';
const STATUS_EVERY_MS = 1_000;

/**
 * The audit of an event log on shared servers. The process with the signer reads the whole history at the start and
 * signs under a lease. API nodes maintain the tree for proofs and start from their stored part of it, once a signed
 * root has proven it. Every process is notified of damage.
 */
export async function startSharedAudit(parts: ServiceParts, { guard, isAfter }: SharedLog): Promise<RunningAudit> {
  const { storage, roles, log, checkpointSigner } = parts;
  const { store } = storage;
  const identity = (await checkpointSigner?.auditIdentity()) ?? null;
  const tiles = new KeptTiles(storage.readModel);
  let ownFault: string | null = null;
  const damaged = (message: string): void => {
    if (ownFault !== null) return;
    ownFault = message;
    guard.refuse(message);
    log.error({ reason: message }, 'the event log has changed: the service is read-only');
  };
  const auditOf = (anchors: readonly AuditAnchor[]): StoreAudit =>
    new StoreAudit({ store, isAfter, verifierKey: identity?.verifierKey ?? null, anchors });
  const beginAnew = (): StoreAudit => auditOf(identity?.anchors ?? []);
  const begin = async () =>
    (identity ? null : await fromTiles(store, tiles, auditOf)) ?? { audit: beginAnew(), isWhole: true };
  const tree =
    identity || roles.api
      ? new StoreAuditTree({
          begin,
          beginAnew,
          rechecks: identity !== null,
          onDamaged: (message) => damaged(message),
          log,
        })
      : null;
  let grant: LeaseGrant | null = null;
  const isLeader = (): boolean => grant?.isHeld() ?? false;
  const sequencer = tree && (await createSequencer(parts, { store, tree, identity, isLeader, damaged }));
  if (roles.signer && !sequencer)
    log.warn({}, 'no checkpoints are signed: the signer needs a wallet and SIGNER_JOURNAL_DIR');
  tree?.start();
  const lead = async (granted: LeaseGrant) => {
    grant = granted;
    return { stop: async () => void (grant = null) };
  };
  const lease = sequencer ? withLease(LEASE, lead, { leases: storage.leases, ttlMs: storage.leaseTtlMs, log }) : null;
  sequencer?.start();
  const leading = (): LeaseGrant | null => (isLeader() ? grant : null);
  const telling = keepTelling({
    sharedStatus: storage.sharedStatus,
    tiles,
    identity,
    tree,
    leading,
    ownFault: () => ownFault,
    guard,
    log,
  });
  return {
    tree: tree ?? NO_TREE,
    state: () => tree?.state ?? null,
    verifierKey: () => identity?.verifierKey ?? telling.verifierKey(),
    identity,
    sequencer,
    signedAtMs: () => (isLeader() ? (sequencer?.last?.atMs ?? null) : null),
    readOnly: () => guard.refusal,
    mayPay: () => guard.refusal === null && (!tree || tree.state.integrity === 'sound'),
    close: async () => {
      await telling.stop();
      await sequencer?.stop();
      await lease?.close();
      await tree?.stop();
    },
  };
}

/** What the signing process publishes. */
type AuditNotice = {
  /** The public key in the form that auditors keep. */
  readonly verifierKey: string;
  /** The fault in the history; null if there is none. */
  readonly fault: string | null;
};

const isNotice = holding<AuditNotice>('verifierKey', 'fault');

interface Telling {
  readonly sharedStatus: SharedStatus;
  readonly tiles: KeptTiles;
  readonly identity: AuditIdentity | null;
  readonly tree: StoreAuditTree | null;
  /** Null while another process signs. */
  readonly leading: () => LeaseGrant | null;
  readonly ownFault: () => string | null;
  readonly guard: SharedLog['guard'];
  readonly log: ServiceParts['log'];
}

/** The signing process publishes its findings; the others read them. A process's own finding stays. */
function keepTelling({ sharedStatus, tiles, identity, tree, leading, ownFault, guard, log }: Telling): {
  verifierKey(): string | null;
  stop(): Promise<void>;
} {
  let heard: string | null = null;
  let turn: Promise<void> | null = null;
  const tell = async (): Promise<void> => {
    const grant = leading();
    if (identity && grant) {
      const { verifierKey } = identity;
      if (tree?.state.integrity !== 'checking')
        sharedStatus.publish(LEASE, grant.token, { verifierKey, fault: ownFault() } satisfies AuditNotice);
      return;
    }
    if (tree?.sound && !identity) await tiles.keep(tree.sound);
    const notice = sharedStatus.read(LEASE);
    if (!isNotice(notice)) return;
    heard = notice.verifierKey;
    if (ownFault() !== null || guard.refusal === notice.fault) return;
    guard.refuse(notice.fault);
    if (notice.fault === null) log.info({}, 'the event log is intact again: the service accepts writes');
    else log.error({ reason: notice.fault }, 'the event log has changed: the service is read-only');
  };
  const timer = setInterval(() => {
    turn ??= tell()
      .catch((error: unknown) => log.warn({ err: error }, 'the state of the audit cannot currently be saved'))
      .finally(() => (turn = null));
  }, STATUS_EVERY_MS).unref();
  return {
    verifierKey: () => heard,
    stop: async () => {
      clearInterval(timer);
      await turn;
    },
  };
}

/** An audit that starts after the stored tiles up to the newest checkpoint, which must prove them. */
async function fromTiles(
  store: EventStore,
  kept: KeptTiles,
  auditOf: (anchors: readonly AuditAnchor[]) => StoreAudit,
): Promise<{ audit: StoreAudit; isWhole: boolean } | null> {
  const last = await store.lastOfStream(AUDIT_STREAM);
  if (!last) return null;
  const newest = dataOf(last, 'CheckpointSigned');
  const tiles: readonly KeptTile[] = (await kept.all()).slice(0, Math.floor(newest.size / TILE_LEAVES));
  if (tiles.length === 0) return null;
  const audit = auditOf([newest]);
  audit.adopt(tiles);
  return { audit, isWhole: false };
}

const behind = (): Promise<never> =>
  Promise.reject(new AuditTreeBehind('this process has no Merkle tree: ask a node with the role api or signer'));

/** For processes that neither sign nor serve anybody. */
const NO_TREE: AuditTree = {
  state: { size: 0, integrity: 'checking', fault: null },
  head: behind,
  inclusionProof: behind,
  consistencyProof: behind,
  leafOf: behind,
};
