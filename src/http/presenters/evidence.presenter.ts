import { shownEvent } from '../../features/audit/issued.ts';
import type { EventEvidence } from '../../features/audit/records.ts';
import type { RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { presentCheckpoint } from './audit.presenter.ts';

/** The issued document's event with its proof under a signed checkpoint. */
export function presentEvidence(
  event: RecordedEvent,
  proven: EventEvidence,
  verifierKey: string | null,
): { readonly [name: string]: JsonValue } {
  return { ...shownEvent(event), ...presentProven(proven, verifierKey) };
}

/** The proof of an event under a signed checkpoint. */
export function presentProven({ checkpoint, proof }: EventEvidence, verifierKey: string | null) {
  const { leafIndex, text, hash, inclusionProof } = proof;
  return {
    ...{ verifier_key: verifierKey, checkpoint: { ...presentCheckpoint(checkpoint) } },
    proof: { leaf_index: leafIndex, text, hash, inclusion_proof: [...inclusionProof] },
  };
}
