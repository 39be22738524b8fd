import type { SessionProof, SignedCheckpointRecord } from '../../features/audit/records.ts';
import type { AuditCheckpointBody, SessionProofBody } from '../schemas/audit.schema.ts';

export const presentCheckpoint = ({
  origin,
  size,
  rootHash,
  checkpoint,
  createdSec,
}: SignedCheckpointRecord): AuditCheckpointBody => ({
  origin,
  size,
  root_hash: rootHash,
  checkpoint,
  created: createdSec,
});

export const presentProof = (sessionId: string, proof: SessionProof, verifierKey: string | null): SessionProofBody => ({
  session_id: sessionId,
  verifier_key: verifierKey,
  checkpoint: proof.checkpoint && presentCheckpoint(proof.checkpoint),
  proves: proof.isWhole
    ? { kind: 'stream', events: proof.events.length, through_revision: proof.events.at(-1)?.revision ?? -1 }
    : { kind: 'inclusion', events: proof.events.length },
  events: proof.events.map(({ type, revision, leafIndex, text, hash, inclusionProof }) => ({
    type,
    revision,
    leaf_index: leafIndex,
    text,
    hash,
    inclusion_proof: [...inclusionProof],
  })),
  pending_events: proof.pendingEvents,
});
