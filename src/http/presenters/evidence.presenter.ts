import { shownEvent } from '../../features/audit/issued.ts';
import type { EventProof, SignedCheckpointRecord } from '../../features/audit/records.ts';
import type { RecordedEvent } from '../../ports/event-store.ts';
import type { JsonValue } from '../../ports/read-model.ts';
import { presentCheckpoint } from './audit.presenter.ts';

/** What was given out, in the words of its event, with what proves the event under a signed checkpoint. */
export function presentEvidence(
  event: RecordedEvent,
  { checkpoint, proof }: { readonly checkpoint: SignedCheckpointRecord; readonly proof: EventProof },
  verifierKey: string | null,
): { readonly [name: string]: JsonValue } {
  const { leafIndex, text, hash, inclusionProof } = proof;
  return {
    ...shownEvent(event),
    ...{ verifier_key: verifierKey, checkpoint: { ...presentCheckpoint(checkpoint) } },
    proof: { leaf_index: leafIndex, text, hash, inclusion_proof: [...inclusionProof] },
  };
}
