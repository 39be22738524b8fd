import { createHttpWitness } from '../../adapters/witness/http-witness.ts';
import { AUDIT_STREAM } from '../../domain/values/streams.ts';
import type { AuditIdentity, AuditTree } from '../../ports/event-log/audit.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import { SignAuditCheckpoints } from '../../features/audit/sign-checkpoints.process.ts';
import type { ServiceParts } from '../service-parts.ts';

export interface SequencerParts {
  readonly store: EventStore;
  readonly tree: AuditTree;
  readonly identity: AuditIdentity | null;
  readonly isLeader: () => boolean;
  readonly damaged: (message: string) => void;
}

/** Instructions for an operator who deliberately restored an old copy. */
export const RESTORE =
  'If an older copy was restored on purpose, stop the service and move this file of the signer away:';

/** Creates the sequencer that requests checkpoints from the signer, without starting it; null if nobody signs. */
export async function createSequencer(
  { config, clock, random, log, checkpointSigner: signer }: ServiceParts,
  { store, tree, identity, isLeader, damaged }: SequencerParts,
): Promise<SignAuditCheckpoints | null> {
  if (!identity || !signer) return null;
  return new SignAuditCheckpoints({
    store,
    tree,
    signer,
    last: await store.lastOfStream(AUDIT_STREAM),
    isLeader,
    clock,
    random,
    log,
    everyEvents: config.AUDIT_CHECKPOINT_EVENTS,
    everyMs: config.AUDIT_CHECKPOINT_SECONDS * 1000,
    witness: config.AUDIT_WITNESS_URL === undefined ? null : createHttpWitness(config.AUDIT_WITNESS_URL),
    onRefused: (message) => damaged(`the signer refuses: ${message}. ${RESTORE} ${identity.anchorFile}.`),
  });
}
